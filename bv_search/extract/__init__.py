"""Extraction: hidden states of an encoder on a task's data, into an activation store.

config.py      what is asked for
survey.py      what is looked at before any work
settings.py    what decides the bytes of a store; what differs from those of another
job.py         what every worker is told
extraction.py  from beginning to end
steps.py       plan, encode what is not done, assemble the manifest;  repair.py  redo damaged files
tokenise.py    rows → windows, shard by shard
plan.py        windows → seeded order, blocks, index
encode.py      a block, inside the process that has the encoder
work.py        what an unfinished extraction has on disk, so that it is not done again
score.py       the encoder's own logits put together, and their score
statistics.py  mean and deviation of every feature, put together from training blocks
hold.py        one extraction at a time into one place
here.py        the steps in this process;  on_ray.py  the same on a cluster;  refusal.py  its errors
"""
