"""What MLflow has of runs, for tests that look."""

from typing import Any

from bv_search.run.mlflow import MlflowMirror


def runs_of(mirror: MlflowMirror) -> dict[str, Any]:
    found = mirror.tracking.client.search_runs([mirror.tracking.experiment])
    assert all(run.data.tags["mlflow.runName"] == run.info.run_name for run in found)
    return {run.info.run_name: run for run in found}
