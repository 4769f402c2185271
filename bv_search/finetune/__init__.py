"""Fine-tune an encoder on a task for fractions of epochs, keeping a stage at each.

config.py          what is asked for
stage_folder.py    the folder of stages: what it may hold, what it keeps
trainer.py         train once through all the fractions, score and keep a stage at each
material.py        the model and its windows;  clock.py  what is told on the way
saved_training.py  a checkpoint of the training itself, to go on from where it was interrupted
scoring.py         one pass over a role's windows: the encoder's answers, and those of heads
launch.py          where training runs: here, on one machine of a Ray cluster, or on several
group.py           several workers that train together;  follower.py  all of them but the first
event.py           what is told on the way
quote.py           what it would take: seconds and memory, for --dry-run
finetuning.py      from beginning to end

Heads that ride along:

ride.py            which heads of a space;  crew.py  these heads on an encoder
riders.py          they learn from each step;  gathering.py  its windows, in portions for a step of heads
running.py         mean and deviation of states that move;  plateau.py  when heads no longer gain
stage_heads.py     what is written of them at a stage;  saved_heads.py  read again
"""
