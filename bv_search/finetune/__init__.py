"""Fine-tune an encoder on a task for fractions of epochs, keeping a stage at each.

config.py        what is asked for
stage_folder.py  the folder of stages: what it may hold, what it keeps
trainer.py       train once through all the fractions, score and keep a stage at each
launch.py        where training runs: here, or on one machine of a Ray cluster
finetuning.py    from beginning to end
"""
