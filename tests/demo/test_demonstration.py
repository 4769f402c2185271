"""The whole way once, on less text and a smaller encoder: real Ray, real MLflow, real files."""

from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from bv_search.command import Progress, Result
from bv_search.demo.cache import DemoCache, DemoSettings, folder_of, provide
from bv_search.demo.demonstration import run
from bv_search.demo.encoder import EncoderSettings
from bv_search.demo.pretraining import PretrainingSettings
from bv_search.demo.text import TextSettings
from bv_search.store.store import Store
from bv_search.tasks.row import Role
from bv_search.tune.config import TuneConfig

SMALL = DemoSettings(
    text=TextSettings(train_passages=60, dev_passages=25),
    encoder=EncoderSettings(layers=2, width=32, heads=2, vocabulary=400),
    pretraining=PretrainingSettings(steps=10, batch=8),
)


@dataclass(frozen=True, kw_only=True)
class Done:
    result: Result
    cache: Path
    runs: Path


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory, cache_folder: Path) -> Done:
    runs = tmp_path_factory.mktemp("demonstration") / "runs"
    config = TuneConfig(space="adapters", store="", trials=2, scheduler="none", runs=runs, name="first")
    return Done(result=run(config, Progress(quiet=True), SMALL), cache=cache_folder, runs=runs)


def stock_of(done: Done) -> DemoCache:
    return provide(SMALL, Progress(quiet=True))


def test_it_ends_with_what_was_found_and_what_to_do_next(done: Done) -> None:
    text = done.result.text
    standings = text.partition("each beside the one below it\n")[2]
    rungs = ("majority", "encoder", "best linear probe", "best head")
    assert [line.split("  ")[1] for line in standings.splitlines()[:4]] == list(rungs)
    assert "The best head is " in standings
    assert "as it is after 0.1 epochs; after 1 epoch it scores 0." in standings
    assert f"mlflow ui --backend-store-uri sqlite:///{done.runs}/mlflow.db" in text
    assert f"{done.runs}/first/report.html" in text
    assert "bv-search extract --task TASK --data FOLDER" in text


def test_a_program_gets_what_tune_says_and_more(done: Done) -> None:
    said = done.result.json
    assert {"run", "trials", "failed", "baseline", "best", "smallest", "seconds"} <= set(said)
    assert said["trials"] == 2
    assert said["failed"] == 0
    low, high = said["ensemble"]["interval"]
    assert low <= said["ensemble"]["score"] <= high
    assert Path(said["report"]).read_text(encoding="utf-8").startswith("<!doctype html>")


def test_heads_are_searched_on_the_early_stage_of_rows_it_has_partly_seen(done: Done) -> None:
    stock = stock_of(done)
    store = Store.open(str(stock.store))
    assert (stock.stage.stage.fraction, stock.whole.stage.fraction) == (0.1, 1.0)
    assert store.manifest.encoder.fraction == 0.1
    (train,) = store.splits(Role.TRAIN)
    seen = train.index["seen"].to_pylist()
    assert 0.05 < sum(seen) / len(seen) < 0.2


def test_what_was_made_is_kept_and_not_made_again(done: Done) -> None:
    files = {path: path.stat().st_mtime_ns for path in done.cache.rglob("*") if path.name != ".lock"}
    stock = stock_of(done)
    assert stock.stage.kept
    assert stock.whole.kept
    again = {path: path.stat().st_mtime_ns for path in done.cache.rglob("*") if path.name != ".lock"}
    assert {path for path in again if path.is_file()} == {path for path in files if path.is_file()}
    assert all(files[path] == again[path] for path in files if path.is_file())


def test_other_settings_are_kept_elsewhere(
    done: Done, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert folder_of(SMALL) == stock_of(done).folder
    assert folder_of(replace(SMALL, fraction=0.3)) != folder_of(SMALL)
    monkeypatch.setenv("BV_CACHE", str(tmp_path))
    assert folder_of(SMALL).parent == tmp_path
