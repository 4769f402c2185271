"""What a search ends with are models of MLflow's, each there once."""

import mlflow
import pandas as pd

from bv_search.command import Progress
from bv_search.ensemble.config import EnsembleConfig
from bv_search.ensemble.ensemble import run as decide
from bv_search.model.loading import model_of_run
from bv_search.model.registry import Registered, register
from bv_search.run import Run
from bv_search.run.mlflow import MlflowMirror
from tests.model.registering import logged, registered
from tests.model.small_run import Small, bag


def test_heads_are_ranked_by_score_and_size_on_the_store(
    small: Small, run: Run, in_mlflow: Registered
) -> None:
    digest = small.store.digest.removeprefix("xxh3:")
    dataset = {"dataset_name": "store", "dataset_digest": digest}
    order = {"field_name": "metrics.report_score", "ascending": False, **dataset}
    ranked = logged(run, datasets=[dataset], order_by=[order])
    records = {record.id: record for record in run.finished_trials()}
    scores = [records[model.name].report_score or 0.0 for model in ranked]
    assert len(ranked) == len(records)
    assert scores == sorted(scores, reverse=True)
    small_ones = logged(run, filter_string="metrics.parameters < 200")
    assert {model.name for model in small_ones} == {
        record.id for record in records.values() if (record.parameters or 0) < 200
    }
    assert [model.name for model in logged(run, filter_string="params.`head.size` = '8'")] == ["0002"]

    (adapter,) = (model for model in ranked if model.name == "0002")
    mirror = MlflowMirror(run)
    child = mirror.tracking.client.get_run(mirror.child_id("0002"))
    assert adapter.source_run_id == child.info.run_id
    assert [output.model_id for output in child.outputs.model_outputs] == [adapter.model_id]
    assert [each.dataset.digest for each in child.inputs.dataset_inputs] == [digest]
    loaded = mlflow.pyfunc.load_model(f"models:/{adapter.model_id}")
    expected = [row["prediction"] for row in model_of_run(run, "0002").predict([("Who?", "Ada wrote it.")])]
    asked = pd.DataFrame([{"question": "Who?", "context": "Ada wrote it."}])
    assert loaded.predict(asked)["prediction"].tolist() == expected


def test_what_is_there_is_not_logged_again(small: Small, run: Run, in_mlflow: Registered) -> None:
    before = {model.model_id for model in logged(run)}
    assert registered(Run.open(run.path), small) == in_mlflow
    assert {model.model_id for model in logged(run)} == before


def test_a_model_that_was_broken_off_gives_way(small: Small, run: Run) -> None:
    """As a kill between its first call and its last leaves it."""
    mirror = MlflowMirror(run)
    tags = {"bv.run": run.study.id, "bv.trial": "0002", "bv.model": "0002"}
    broken = mirror.tracking.client.create_logged_model(mirror.tracking.experiment, name="0002", tags=tags)
    registered(run, small)
    found = mirror.tracking.client.search_logged_models([mirror.tracking.experiment])
    assert broken.model_id not in {model.model_id for model in found}
    assert sum(model.name == "0002" for model in found) == 1


def test_a_finale_is_what_a_search_ends_with(small: Small, run: Run, in_mlflow: Registered) -> None:
    before = {model.name for model in logged(run)}
    bag(run, "0003")
    registered(run, small)
    assert {model.name for model in logged(run)} - before == {"0003-bagged", "0003-single"}


def test_an_ensemble_is_a_model_and_the_best(small: Small, run: Run, in_mlflow: Registered) -> None:
    decide(EnsembleConfig(runs=(str(run.path),), mlflow=False), Progress(quiet=True))
    mirror = MlflowMirror(run)
    found = register(run, small.store, mirror)
    assert found is not None, mirror.trouble
    assert (found.version, found.is_best) == ("2", True)
    (model,) = logged(run, filter_string="name = 'ensemble'")
    chosen = run.ensemble()
    assert chosen is not None
    assert model.source_run_id == mirror.parent_id
    assert {each.key: each.value for each in model.metrics}["report_score"] == chosen["score"]
    assert register(run, small.store, mirror) == found
