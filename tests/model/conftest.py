"""Models of finished studies: a head beside its encoder, heads of copies, and what MLflow has of them."""

from dataclasses import replace

import mlflow
import pytest

from bv_search.model.combine import Method
from bv_search.model.loading import model_of_run
from bv_search.model.model import Model
from bv_search.model.registry import Registered
from bv_search.run import Run
from bv_search.run.mlflow import MlflowMirror
from tests.model.registering import registered
from tests.model.small_run import Small, make_run


@pytest.fixture(scope="session")
def folded(small: Small, tmp_path_factory: pytest.TempPathFactory) -> Small:
    """Heads of three copies on the same store."""
    place = tmp_path_factory.mktemp("folded") / "runs" / "folded"
    return replace(small, run=make_run(small.store, place, folds=3))


@pytest.fixture
def ensemble(small: Small) -> Model:
    head, encoder = model_of_run(small.run, "0002"), model_of_run(small.run, "encoder")
    return replace(head, method=Method.MAX, members=(*head.members, *encoder.members))


@pytest.fixture
def in_mlflow(small: Small, run: Run, monkeypatch: pytest.MonkeyPatch) -> Registered:
    """With MLflow's own functions going to the same database."""
    found = registered(run, small)
    assert not mlflow.is_tracking_uri_set()
    monkeypatch.setenv("MLFLOW_TRACKING_URI", MlflowMirror(run).uri)
    return found
