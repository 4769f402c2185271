"""The front door, from sentence pairs to answers, with real parts."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import bv_search as bv
from bv_search.api import verbs
from bv_search.cluster import ray_session
from bv_search.run.folder import REPORT_HTML
from tests.extract.conftest import write_pairs

SPACE = {
    "space": {
        "head": {"kind": "adapter", "size": {"choice": [2, 4]}, "shared": True},
        "learning_rate": {"loguniform": [0.001, 0.01]},
        "passes": 2,
    }
}


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    with ray_session():
        yield


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("front")
    (folder / "data").mkdir()
    write_pairs(folder / "data")
    return folder


@pytest.fixture(scope="module")
def stage(place: Path, tiny_encoder: Path) -> bv.Stage:
    return bv.finetune(
        "mrpc",
        encoder=tiny_encoder,
        data=place / "data",
        fraction=0.5,
        out=place / "stages",
        learning_rate=1e-3,
        progress=False,
    )


@pytest.fixture(scope="module")
def store(place: Path, stage: bv.Stage) -> bv.Store:
    return bv.extract(stage, data=place / "data", out=place / "store", workers=0, progress=False)


@pytest.fixture(scope="module")
def heard() -> list[str]:
    return []


@pytest.fixture(scope="module")
def run(place: Path, store: bv.Store, heard: list[str]) -> bv.Run:
    return bv.tune(
        store,
        space=SPACE,
        trials=3,
        searcher="random",
        runs=place / "runs",
        name="first",
        progress=heard.append,
    )


def test_a_stage_says_where_it_is_and_what_it_scores(stage: bv.Stage, place: Path) -> None:
    assert stage.path == place / "stages" / "0.5"
    assert 0.0 <= stage.stage.metrics["report"]["score"] <= 1.0


def test_several_fractions_give_several_stages(place: Path, tiny_encoder: Path) -> None:
    stages = bv.finetune(
        "mrpc",
        encoder=tiny_encoder,
        data=place / "data",
        fraction=(0, 0.5),
        out=place / "two",
        progress=False,
    )
    assert [each.stage.fraction for each in stages] == [0.0, 0.5]


def test_fractions_come_in_whatever_holds_numbers(place: Path, tiny_encoder: Path) -> None:
    for several in (np.array([0, 0.5]), (each for each in (0, 0.5))):
        stages = bv.finetune(
            "mrpc",
            encoder=tiny_encoder,
            data=place / "data",
            fraction=several,
            out=place / "two",
            progress=False,
        )
        assert [each.stage.fraction for each in stages] == [0.0, 0.5]
    wrong: Any
    for wrong in ("0.3", None, [[0.3]], ["a"], np.array(0.3), 10**400):
        with pytest.raises(bv.UserError, match=r"fraction is no number of epochs; expected 0\.3"):
            bv.finetune("mrpc", encoder=tiny_encoder, fraction=wrong, progress=False)


def test_a_stage_is_found_from_home(
    stage: bv.Stage, place: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(stage.path.parent))
    found = bv.extract(
        "~/0.5", data=place / "data", out=tmp_path / "store", format="none", workers=0, progress=False
    )
    assert found.task.name == "mrpc"


def test_a_warm_start_is_one_run_or_several() -> None:
    for given in ("runs/first", Path("runs/first"), ["runs/first"]):
        assert verbs._tune_config("store", {"warm_start": given}).warm_start == (Path("runs/first"),)


def test_a_store_knows_its_task_from_its_stage(store: bv.Store) -> None:
    assert store.task.name == "mrpc"
    assert store.info()["windows"] == store.manifest.windows


def test_a_run_has_a_leaderboard_as_a_table(run: bv.Run, heard: list[str]) -> None:
    table = run.leaderboard()
    assert isinstance(table, pd.DataFrame)
    assert list(table["rank"]) == list(range(1, len(table) + 1))
    assert len(table[table["rung"].isna() & table["of"].isna()]) == 3
    assert "<table" in run._repr_html_()
    assert heard
    assert run.study.space["name"] == "own"


def test_heads_of_a_run_answer_texts(run: bv.Run) -> None:
    answers = run.best.predict([("one text", "another"), ("the tower", "a river")])
    assert [answer["id"] for answer in answers] == ["0", "1"]
    assert {answer["prediction"] for answer in answers} <= set(run.best.task.labels)
    assert run.smallest.parameters <= run.best.parameters
    with pytest.raises(bv.DataError, match="text 0: is no row of the task; expected mrpc"):
        run.best.predict(["one text alone"])


def test_a_head_says_of_states_what_its_run_says_of_their_rows(run: bv.Run, store: bv.Store) -> None:
    trial = run.leaderboard()["trial"][0]
    head = bv.Head.from_pretrained(run.head_folder(trial))
    (split,) = store.splits("report")
    hidden_LTH = np.concatenate([block.hidden_LTH for block in split.blocks()], axis=1).astype(np.float32)
    said = head(torch.from_numpy(hidden_LTH).transpose(0, 1)).argmax(dim=1).tolist()
    rows = bv.predict(run, member=trial, progress=False).answers.rows
    assert [store.task.labels[each] for each in said] == [row["prediction"] for row in rows]


def test_an_ensemble_and_a_report_show_themselves(run: bv.Run) -> None:
    combined = bv.ensemble(run, mlflow=False, progress=False)
    assert combined._repr_html_().startswith("<pre>")
    assert run.combined.name
    page = bv.report(run, mlflow=False, progress=False)
    assert (run.path / REPORT_HTML).is_file()
    assert page._repr_html_().startswith("<iframe srcdoc=")
    with pytest.raises(bv.UnknownName, match="no method named 'greed'"):
        bv.ensemble(run, method="greed")


def test_a_run_goes_on(run: bv.Run) -> None:
    more = bv.resume(run, more=1, progress=False)
    assert more.study.trials == 4
    assert len(more.leaderboard()) == len(run.leaderboard())  # both read the folder


def test_silence_is_silent(run: bv.Run, capfd: pytest.CaptureFixture[str]) -> None:
    bv.report(run, mlflow=False, progress=False)
    bv.verify(run, progress=False)
    assert capfd.readouterr() == ("", "")
    bv.report(run, mlflow=False)
    assert "report: reading" in capfd.readouterr().err


def test_what_is_whole_is_whole_and_what_is_not_is_named(
    run: bv.Run, store: bv.Store, tmp_path: Path
) -> None:
    assert bv.verify(run, progress=False).ok
    assert bv.verify(store, progress=False).ok
    with pytest.raises(bv.UserError, match="is neither a store nor a run"):
        bv.verify(tmp_path)


def test_a_trial_is_trained_again(run: bv.Run) -> None:
    assert bv.rerun(run, "0001", progress=False).agrees


def test_a_dry_run_tells_sizes(store: bv.Store) -> None:
    assert len(bv.dry_run(store, space=SPACE).heads) == 2
    assert bv.dry_run(shape="13x768", space="pooling").heads
    with pytest.raises(bv.UserError, match="needs a store or a shape"):
        bv.dry_run()


def test_errors_are_those_of_the_command_line(store: bv.Store) -> None:
    with pytest.raises(bv.UnknownName, match="did you mean 'adapters'"):
        bv.tune(store, space="adapter", progress=False)
    with pytest.raises(bv.SpaceError, match="own: holds what no file could"):
        bv.tune(store, space={"space": {"head": Path()}}, progress=False)
    with pytest.raises(bv.StoreError, match="is not a store"):
        bv.tune("no/such/store", progress=False)
    with pytest.raises(TypeError, match="trails"):
        bv.tune(store, trails=3)  # type: ignore[call-arg]


def test_arrays_of_ones_own_are_searched_without_an_encoder(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 240)
    hidden = rng.normal(size=(240, 3, 8))
    hidden[:, 1] += np.where(labels, 1.0, -1.0)[:, None] * rng.normal(size=8)
    store = bv.Store.from_arrays(tmp_path / "store", hidden, labels)
    run = bv.tune(store, space=SPACE, trials=2, searcher="random", runs=tmp_path / "runs", progress=False)
    table = run.leaderboard()
    assert table["report_score"][0] > 0.7
    assert set(table["rung"].dropna()) == {"majority", "probe"}
    assert run.study.baseline is None
    assert table["percent"].isna().all()
    bv.ensemble(run, mlflow=False, progress=False)
    assert "parameters" in json.dumps(bv.report(run, mlflow=False, progress=False).to_json())
    with pytest.raises(bv.EncoderError, match="the encoder is not there"):
        run.best.predict(["a text"])
