"""Extraction: hidden states of an encoder on a task's data, into an activation store.

config.py        what is asked for
settings.py      what decides the bytes of a store: found out before any work, compared with those of another
job.py           what every worker is told
extraction.py    from beginning to end
steps.py         plan, encode what is not done, assemble the manifest
plan.py          rows → windows, shard by shard → seeded order, blocks, index
encode.py        a block, inside the process that has the encoder
assembly.py      what is put together from blocks: the encoder's logits and their score, statistics
repair.py        redo damaged files
resume.py        what an unfinished extraction has on disk, so that it is not done again
lock.py          one extraction at a time into one place
executor.py      the steps in this process
ray_executor.py  the same on a cluster
"""
