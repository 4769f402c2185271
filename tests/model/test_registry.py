import json
import socket
import urllib.request
from pathlib import Path
from typing import Any

import mlflow
import pandas as pd
import pytest

from bv_search.errors import DataError
from bv_search.model.answer import answer_rows
from bv_search.model.loading import open_model
from bv_search.model.registry import Registered, register
from bv_search.run import Run
from bv_search.run.mlflow import MlflowMirror
from bv_search.tasks.dataset import load_dataset
from tests.model.registering import registered
from tests.model.small_run import Small, copy_run, note_files
from tests.run.servers import mlflow_server, model_server

NAME = "bv_search-squad2-span"


def some_rows(small: Small) -> Any:
    return load_dataset(small.store.task, str(small.data)).split("dev").rows[:8]


def table_of(rows: Any) -> pd.DataFrame:
    return pd.DataFrame([{"question": row.text_a, "context": row.text_b} for row in rows])


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
