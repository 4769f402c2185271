"""What is registered of a run, and what MLflow has of its models."""

from typing import Any

import mlflow

from bv_search.model.registry import Registered, register
from bv_search.run import Run
from bv_search.run.mlflow import MlflowMirror
from tests.model.small_run import Small


def registered(run: Run, small: Small, uri: str | None = None) -> Registered:
    """The best head, after its run."""
    mirror = MlflowMirror(run, uri)
    assert mirror.close(), mirror.trouble
    found = register(run, small.store, mirror)
    assert found is not None, mirror.trouble
    return found


def logged(run: Run, **query: Any) -> list[Any]:
    experiment = MlflowMirror(run).tracking.experiment
    found: list[Any] = mlflow.search_logged_models([experiment], output_format="list", **query)
    return found
