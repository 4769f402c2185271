"""A pre-trained encoder at a stage of fine-tuning: its hidden states and its own predictions.

location.py     a folder or a Hub name → the folder to read
identity.py     which weights these are
stage.py        what a stage folder says of itself
checkpoint.py   read a checkpoint
encoder.py      hidden states and logits of a batch
batches.py      which windows go together, in training and in inference
predictions.py  the logits of many windows
loss.py         what fine-tuning minimises, by kind of task
training.py     the fine-tuning loop
"""
