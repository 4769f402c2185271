"""`bv-search study`, from a few sentence pairs to the page; what is done is not done again."""

import csv
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import bv_search as bv
from bv_search.cluster import ray_session
from bv_search.command import Progress, main
from bv_search.heads.config.poolings import PoolingHead
from bv_search.study import published, work
from bv_search.study.__main__ import COMMAND
from bv_search.study.config import STUDIES
from bv_search.study.folder import StudyFolder
from bv_search.study.heads import paper_table
from bv_search.study.work import do_steps, holding
from tests.study.conftest import configured, words

TABLES = {
    "curve", "heads", "heads-by-stage", "data", "transfer", "transfer-heads", "ensembles", "ensembles-capped",
    "layers", "search", "errors", "errors-by-group", "answer", "spent",
}  # fmt: skip


def ask(said: list[str], capsys: pytest.CaptureFixture[str], *more: str) -> tuple[int, Any, str]:
    status = main(COMMAND, [*said, *more, "--json"])
    heard = capsys.readouterr()
    return status, json.loads(heard.out) if heard.out else None, heard.err


def rows_of(out: Path, name: str) -> list[dict[str, str]]:
    return list(csv.DictReader((out / "tables" / f"{name}.csv").open()))


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    with ray_session():
        yield


@pytest.fixture(scope="module")
def few(inputs: Path, tiny_encoder: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What needs one run a stage."""
    out = tmp_path_factory.mktemp("few") / "out"
    return [*words(inputs, tiny_encoder, out), "--stages", "1", "--only", "curve,layers"]


def test_only_what_the_studies_need_is_made(
    cluster: None, few: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    status, said, progress = ask(few, capsys)
    assert status == 0, progress
    out = Path(said["out"])
    assert list(said["studies"]) == ["curve", "layers"]
    assert {path.name for path in (out / "runs").iterdir() if path.is_dir()} <= {"heads-1", "mlartifacts"}
    (row,) = rows_of(out, "curve")
    stage = json.loads((out / "stages/1/stage.json").read_text())
    assert float(row["score"]) == stage["metrics"]["report"]["score"]
    weights = [float(row["weight 1"]) for row in rows_of(out, "layers") if row["weight 1"]]
    assert sum(weights) == pytest.approx(1)
    page = Path(said["page"]).read_text()
    assert page.count("<svg") == 3
    assert "src=" not in page


def test_what_is_done_is_not_done_again(few: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    out = Path(few[few.index("--out") + 1])
    kept = {path: path.stat().st_mtime_ns for path in (out / "runs/heads-1").rglob("*") if path.is_file()}
    tables = {path: path.read_bytes() for path in (out / "tables").iterdir()}
    status, _, progress = ask(few, capsys)
    assert status == 0
    assert "steps" not in progress
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    assert {path: path.read_bytes() for path in (out / "tables").iterdir()} == tables


def test_a_dry_run_says_what_is_left_and_writes_nothing(
    few: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    out = Path(few[few.index("--out") + 1])
    before = sorted(out.rglob("*"))
    status, said, _ = ask([*few, "--stages", "0.5,1", "--only", "layers"], capsys, "--dry-run")
    assert status == 0
    assert [step["name"] for step in said["steps"]] == ["finetune", "extract 0.5", "heads 0.5"]
    assert said["done"] == 2
    assert said["seconds"] == pytest.approx(sum(step["seconds"] for step in said["steps"]))
    assert all(step["bytes"] > 0 for step in said["steps"])
    assert sorted(out.rglob("*")) == before


def test_what_is_wrong_is_one_line_before_any_work(
    inputs: Path, tiny_encoder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "new"
    for changes, complaint in (
        (["--only", "curves"], "did you mean 'curve'"),
        (["--heads", "paper-spam"], "did you mean 'paper-span'"),
        (["--heads", "adapters"], "is no grid of heads"),
        (["--space", "adapter"], "did you mean 'adapters'"),
        (["--task", "mprc"], "did you mean 'mrpc'"),
        (["--encoder", str(tmp_path / "none")], "none"),
        (["--data", str(tmp_path / "none")], "none"),
        (["--stages", "-1"], "a fraction of epochs is wrong"),
        (["--fractions", "0,1"], "a fraction of the data is wrong"),
        (["--cap", "0"], "the cap is wrong"),
    ):
        said = [*words(inputs, tiny_encoder, out), "=".join(changes)]
        status, _, err = ask(said, capsys, "--quiet")
        assert (status, err.count("\n")) == (2, 1), err
        assert complaint in err
        assert not out.exists()


def test_a_folder_goes_on_as_it_was_begun(few: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = ask([*few, "--seeds", "3"], capsys, "--quiet")
    assert status == 2
    assert "was begun with other settings" in err
    assert "seeds 2" in err
    assert "seeds 3" in err


def test_two_at_once_do_not_meet(
    few: list[str], inputs: Path, tiny_encoder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = Path(few[few.index("--out") + 1])
    with holding(configured(inputs, tiny_encoder, out)):
        status, _, err = ask(few, capsys, "--quiet")
    assert status == 2
    assert "is being written by someone else" in err


def test_a_search_that_is_broken_off_ends_the_command(
    cluster: None, inputs: Path, tiny_encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C lets a search come to its end, which is not that of the studies."""
    begun: list[str] = []
    monkeypatch.setattr(work, "_do", lambda config, step, progress: begun.append(step.name))
    config = configured(inputs, tiny_encoder, tmp_path / "out")
    with holding(config), pytest.raises(KeyboardInterrupt):
        do_steps(config, Progress(quiet=True))
    assert begun == ["finetune"]


@pytest.fixture(scope="module")
def whole(inputs: Path, tiny_encoder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All studies, from Python."""
    config = configured(inputs, tiny_encoder, tmp_path_factory.mktemp("whole") / "out")
    with ray_session():
        done = bv.study(
            config.task,
            encoder=config.encoder,
            data=config.data,
            out=config.out,
            heads=config.heads,
            space=config.space,
            stages=config.stages,
            fractions=config.fractions,
            trials=config.trials,
            seeds=config.seeds,
            cap=config.cap,
            progress=False,
        )
    assert [section.study for section in done.sections] == list(STUDIES)
    return config.out


@pytest.mark.slow
def test_all_studies_leave_their_tables_and_figures(whole: Path) -> None:
    assert {path.stem for path in (whole / "tables").iterdir()} == TABLES
    assert {path.suffix for path in (whole / "tables").iterdir()} == {".md", ".csv", ".tex"}
    page = (whole / "study.html").read_text()
    assert page.count("<svg") == len(list((whole / "figures").iterdir())) == 9
    assert "published" not in page


@pytest.mark.slow
def test_scores_are_those_of_the_runs(whole: Path) -> None:
    run = bv.Run.open(whole / "runs/heads-1")
    trials = [record for record in run.trials() if record.is_searched]
    pooled = [record.report_score or 0.0 for record in trials if record.config["head"]["kind"] == "pooling"]
    (row,) = (
        row
        for row in rows_of(whole, "heads-by-stage")
        if (row["epochs"], row["model"]) == ("1", "learned pooling")
    )
    assert float(row["score"]) == pytest.approx(sum(pooled) / len(pooled))
    own = {(row["learned at"], row["head"]): row for row in rows_of(whole, "transfer-heads")}
    assert float(own["1", "learned pooling"]["scored at 1"]) == pytest.approx(sum(pooled) / len(pooled))


@pytest.mark.slow
def test_heads_on_another_stage_score_what_predict_says(whole: Path, tmp_path: Path) -> None:
    run = bv.Run.open(whole / "runs/heads-0.5")
    scores = []
    for record in run.trials():
        if record.config["head"]["kind"] == "pooling":
            place = run.trial_folder(record.id)
            out = str(tmp_path / f"{record.id}.jsonl")
            said = bv.predict(place, store=whole / "stores/1", out=out, progress=False)
            assert said.answers.evaluation is not None
            scores.append(said.answers.evaluation.score)
    (row,) = (
        row
        for row in rows_of(whole, "transfer-heads")
        if (row["learned at"], row["head"]) == ("0.5", "learned pooling")
    )
    assert float(row["scored at 1"]) == pytest.approx(sum(scores) / len(scores))


@pytest.mark.slow
def test_an_ensemble_keeps_under_its_cap(whole: Path) -> None:
    for row in rows_of(whole, "ensembles-capped"):
        assert int(row["parameters"]) <= int(row["cap"])


@pytest.mark.slow
def test_published_figures_stand_beside_ours_where_they_are_of_the_same(
    whole: Path, inputs: Path, tiny_encoder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = StudyFolder(config=configured(inputs, tiny_encoder, whole))
    assert not any(column.name.startswith("published") for column in paper_table(made).columns)
    monkeypatch.setattr(published, "is_published", lambda store: True)
    monkeypatch.setitem(published.ENCODER, "mrpc", {1.0: (0.1, 0.2)})
    monkeypatch.setitem(published.HEADS, "mrpc", {PoolingHead(): {1.0: (0.3, 0.4)}})
    table = paper_table(made)
    names = [column.name for column in table.columns]
    place = names.index("published EM 1")
    assert names[place + 1] == "published F1 1"
    assert not any(name.startswith("published") and name.endswith("0.5") for name in names)
    found = {row[0]: row[place : place + 2] for row in table.rows}
    assert found["encoder"] == (0.1, 0.2)
    assert found["learned pooling"] == (0.3, 0.4)
    assert found["winner of the search"] == (None, None)


TIMED = {"tables/spent.csv", "tables/spent.md", "tables/spent.tex"}


def outcome(out: Path) -> dict[str, bytes]:
    """Tables without what says how long it took."""
    files = {str(path.relative_to(out)): path.read_bytes() for path in (out / "tables").glob("*.csv")}
    return {name: _without_seconds(data) for name, data in files.items() if name not in TIMED}


def _without_seconds(data: bytes) -> bytes:
    rows = list(csv.DictReader(data.decode().splitlines()))
    return "\n".join(
        ",".join(value for name, value in row.items() if "seconds" not in name) for row in rows
    ).encode()


@pytest.mark.slow
def test_killed_anywhere_it_ends_with_the_same_tables(
    inputs: Path, tiny_encoder: Path, tmp_path: Path
) -> None:
    """By SIGKILL of its whole group, at random moments, until it gets through."""
    names = ["--only", "curve,heads,data,transfer,layers", "--stages", "0.5,1"]
    straight, broken = ([*words(inputs, tiny_encoder, tmp_path / name), *names] for name in ("a", "b"))
    subprocess.run([sys.executable, "-m", "bv_search", "study", *straight, "--quiet"], check=True)
    draw, kills = random.Random(0), 0
    while _killed([*broken, "--quiet"], draw.uniform(5, 40 + 15 * kills)):
        kills += 1
    assert kills > 0, "it was interrupted at least once"
    assert outcome(tmp_path / "b") == outcome(tmp_path / "a")


def _killed(said: list[str], seconds: float) -> bool:
    process = subprocess.Popen([sys.executable, "-m", "bv_search", "study", *said], start_new_session=True)
    end = time.monotonic() + seconds
    while process.poll() is None and time.monotonic() < end:
        time.sleep(0.05)
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return True
    assert process.returncode == 0
    return False
