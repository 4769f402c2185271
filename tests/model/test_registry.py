import json
import socket
import urllib.request
from pathlib import Path
from typing import Any

import mlflow
import pandas as pd
import pytest

from bv_search.command import Progress
from bv_search.ensemble.config import EnsembleConfig
from bv_search.ensemble.ensemble import run as decide
from bv_search.errors import DataError
from bv_search.model.answer import answer_rows
from bv_search.model.loading import model_of_run, open_model
from bv_search.model.registry import Registered, register
from bv_search.run import Run
from bv_search.run.mlflow import MlflowMirror
from bv_search.tasks.dataset import load_dataset
from tests.model.small_run import Small, bag, copy_run, note_files
from tests.run.servers import mlflow_server, model_server

NAME = "bv_search-squad2-span"


def registered(run: Run, small: Small, uri: str | None = None) -> Registered:
    """The best head, after its run."""
    mirror = MlflowMirror(run, uri)
    assert mirror.close(), mirror.trouble
    found = register(run, small.store, mirror)
    assert found is not None, mirror.trouble
    return found


@pytest.fixture
def in_mlflow(small: Small, run: Run, monkeypatch: pytest.MonkeyPatch) -> Registered:
    """With MLflow's own functions going to the same database."""
    found = registered(run, small)
    assert not mlflow.is_tracking_uri_set()
    monkeypatch.setenv("MLFLOW_TRACKING_URI", MlflowMirror(run).uri)
    return found


def some_rows(small: Small) -> Any:
    return load_dataset(small.store.task, str(small.data)).split("dev").rows[:8]


def table_of(rows: Any) -> pd.DataFrame:
    return pd.DataFrame([{"question": row.text_a, "context": row.text_b} for row in rows])


def logged(run: Run, **query: Any) -> list[Any]:
    experiment = MlflowMirror(run).tracking.experiment
    found: list[Any] = mlflow.search_logged_models([experiment], output_format="list", **query)
    return found


def test_the_best_model_is_registered_and_answers_without_pickle(
    small: Small, run: Run, in_mlflow: Registered
) -> None:
    assert (in_mlflow.name, in_mlflow.version, in_mlflow.is_best) == (NAME, "1", True)
    rows, model = some_rows(small), open_model(run.path, member="best")
    served = mlflow.pyfunc.load_model(f"models:/{NAME}@best")
    expected = [row["prediction"] for row in answer_rows(model, model.load_encoder(), rows).rows]
    table = table_of(rows)
    assert served.predict(table)["prediction"].tolist() == expected
    with pytest.raises(DataError, match=r"^row 1: the column 'context' holds no text; found "):
        served.predict(table.assign(context=["The report was written by Ada.", None, *["…"] * 6]))
    assert served.metadata.get_input_schema().input_names() == ["question", "context"]

    stored = run.path.parent / "mlartifacts"
    assert {path.suffix for path in stored.rglob("*") if path.is_file()} & {".pkl", ".bin", ".pt"} == set()


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


@pytest.mark.parametrize(("score", "stays"), [(0.0, True), (1.0, False)])
def test_the_alias_is_the_best_of_all_runs_on_the_same_data(
    small: Small, run: Run, in_mlflow: Registered, score: float, stays: bool
) -> None:
    other = copy_run(small, run.path.parent / "second")
    other.change_study(name="second", id="another")
    for record in other.finished_trials():
        note_files(other, record.id, score=score)
    assert registered(other, small).is_best is not stays
    client = MlflowMirror(run).tracking.client
    assert str(client.get_registered_model(NAME).aliases["best"]) == ("1" if stays else "2")


def test_a_server_that_is_gone_costs_nothing_but_the_registration(small: Small, run: Run) -> None:
    mirror = MlflowMirror(run)
    (run.path.parent / "mlflow.db").write_text("not a database")
    assert register(run, small.store, mirror) is None
    assert mirror.trouble is not None


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


def ask_over_http(port: int, table: pd.DataFrame) -> Any:
    body = json.dumps({"dataframe_split": table.to_dict(orient="split", index=False)}).encode()
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"http://127.0.0.1:{port}/invocations", body, headers)
    with urllib.request.urlopen(request, timeout=120) as answer:
        return json.load(answer)


@pytest.mark.slow
def test_a_model_is_served_over_http_from_a_server_that_died_and_came_back(
    small: Small, run: Run, tmp_path: Path
) -> None:
    port = free_port()
    uri = f"http://127.0.0.1:{port}"
    with mlflow_server(tmp_path, port) as kill:
        mirror = MlflowMirror(run, uri)
        assert mirror.close(), mirror.trouble
        kill()
        assert register(run, small.store, mirror) is None
        assert str(mirror.trouble).startswith(f"{uri}: MLflow cannot be reached")
    rows, model = some_rows(small), open_model(run.path, member="best")
    with mlflow_server(tmp_path, port):
        found = register(run, small.store, mirror)
        assert found is not None, mirror.trouble
        own = free_port()
        with model_server(f"models:/{NAME}@best", tmp_path, own, MLFLOW_TRACKING_URI=uri):
            said = ask_over_http(own, table_of(rows))
    expected = [row["prediction"] for row in answer_rows(model, model.load_encoder(), rows).rows]
    assert [each["prediction"] for each in said["predictions"]] == expected
