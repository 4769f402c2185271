"""Fine-tune an encoder on a task for fractions of epochs, keeping a stage at each.

config.py     what is asked for
shelf.py      the folder of stages: what it may hold, what it keeps
workbench.py  the work: train once through all the fractions, score and keep a stage at each
clock.py      how long it took and will take
placement.py  where the work runs: here, or on one machine of a Ray cluster
curve.py      `run`: the learning curve of an encoder, asked and answered
"""
