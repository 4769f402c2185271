"""Extraction: hidden states of an encoder on a task's data, into an activation store.

config.py      what is asked for
settings.py    what decides the bytes of a store; what differs from those of another
job.py         what every worker is told
tokenise.py    rows → windows, shard by shard
plan.py        windows → seeded order, blocks, index
encode.py      blocks, one at a time, inside the process that has the encoder
work.py        what an unfinished extraction has on disk; what it need not redo
score.py       the encoder's own logits put together, and its score
hold.py        one extraction at a time into one place
here.py        the steps in this process;  on_ray.py  the same steps on a cluster
extraction.py  the steps in order
"""
