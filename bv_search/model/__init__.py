"""What answers: a head with its encoder, or an ensemble of heads and the encoder.

combine.py    several models' logits → one
model.py      a model: its members, its encoder by place and digest; save and load
answer.py     logits of a model, from a store or from rows
loading.py    a model from a run, a trial's folder, a saved model or a head's folder
pyfunc.py     the model as MLflow serves it, without pickle
logged.py     what a search ends with, as MLflow's LoggedModels
registry.py   the best of them into MLflow's registry
"""

BEST, SMALLEST, ENSEMBLE = "best", "smallest", "ensemble"
"""What a run calls its models, beside each trial by its id."""
