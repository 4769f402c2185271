from pathlib import Path

import mlflow
import pandas as pd
import pytest

from bv_search.errors import DataError
from bv_search.model.answer import answer_rows
from bv_search.model.loading import open_model
from bv_search.model.registry import register
from bv_search.run import Run
from bv_search.run.mlflow import MlflowMirror
from bv_search.tasks.dataset import load_dataset
from tests.model.small_run import Small


def test_the_best_model_is_registered_and_answers_without_pickle(
    small: Small, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = open_model(run.path)
    mirror = MlflowMirror(run)
    first = register(model, mirror)
    assert first is not None, mirror.trouble
    assert (first.name, first.version) == ("bv_search-squad2-span", "1")

    rows = load_dataset(model.task, str(small.data)).split("dev").rows[:8]
    table = pd.DataFrame([{"question": row.text_a, "context": row.text_b} for row in rows])
    assert not mlflow.is_tracking_uri_set()
    monkeypatch.setenv("MLFLOW_TRACKING_URI", mirror.uri)
    served = mlflow.pyfunc.load_model(first.uri)
    expected = [row["prediction"] for row in answer_rows(model, model.load_encoder(), rows).rows]
    assert served.predict(table)["prediction"].tolist() == expected
    with pytest.raises(DataError, match=r"^row 1: the column 'context' holds no text; found "):
        served.predict(table.assign(context=["The report was written by Ada.", None, *["…"] * 6]))
    assert served.metadata.get_input_schema().input_names() == ["question", "context"]

    stored = run.path.parent / "mlartifacts"
    assert {path.suffix for path in stored.rglob("*") if path.is_file()} & {".pkl", ".bin", ".pt"} == set()


def test_a_server_that_is_gone_costs_nothing_but_the_registration(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mirror = MlflowMirror(run)
    (run.path.parent / "mlflow.db").write_text("not a database")
    assert register(open_model(run.path), mirror) is None
    assert mirror.trouble is not None
