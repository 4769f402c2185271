"""A trial that is trained again comes out as it did."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file, save

from bv_search.command import Progress, main
from bv_search.heads.folder import read_config, write_head
from bv_search.run.folder import Run
from bv_search.store.store import Store
from bv_search.tune import rerun as module
from bv_search.tune.__main__ import COMMAND
from bv_search.tune.config import TuneConfig
from bv_search.tune.search import run as search
from tests.model.small_run import note_files
from tests.tune.conftest import searched

SPACE = """
space:
  head: {kind: adapter, size: {choice: [4, 8]}, skip: true}
  learning_rate: {choice: [0.01, 0.003]}
  passes: auto
"""


@pytest.fixture(scope="module")
def kept(ray_cluster: None, class_store: Store, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Heads of two copies, trained in packs from rung to rung."""
    place = tmp_path_factory.mktemp("rerun")
    (place / "mine.yaml").write_text(SPACE)
    chosen: dict[str, Any] = {"searcher": "random", "trials": 4, "folds": 2, "finalists": 3, "name": "it"}
    chosen["precision"] = "float32"  # 16 bits round what packs add up otherwise by more
    config = TuneConfig(space=str(place / "mine.yaml"), store=class_store.path, runs=place / "runs", **chosen)
    return search(config, Progress(quiet=True))


@pytest.fixture
def run(kept: Run, tmp_path: Path) -> Iterator[Run]:
    """Nothing is written to it."""
    place = tmp_path / "it"
    shutil.copytree(kept.path, place)
    before = kept.journal.path.read_bytes()
    yield Run.open(place)
    assert (place / kept.journal.path.name).read_bytes().startswith(before)


def rerun(run: Run, trial: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any]]:
    words = ["--rerun", run.name, trial, "--runs", str(run.path.parent), "--quiet", "--json"]
    status = main(COMMAND, words)
    return status, json.loads(capsys.readouterr().out)


def test_a_head_comes_out_as_it_did(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    """One that was stopped at a rung, one that went to its end, and a rung of the ladder."""
    records = searched(run)
    segments = [sum(e["event"] == "segment" and e["trial"] == r.id for e in run.events()) for r in records]
    stopped, longest = records[segments.index(min(segments))], records[segments.index(max(segments))]
    assert min(segments) < max(segments)
    for record in (stopped, longest, *(r for r in run.trials() if r.id in ("majority", "probe-1"))):
        status, said = rerun(run, record.id, capsys)
        assert (status, said["agrees"], said["trial"]) == (0, True, record.id)
        assert said["largest_difference"] < 1e-4, "packs round otherwise"
        assert said["score_now"] == pytest.approx(record.score, abs=module.TOLERANCE)
        assert said["score_then"] == record.score


def test_so_does_what_the_finale_made(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    """By its score on report, since it has learned from select."""
    made = [record for record in run.trials() if record.of is not None][:2]
    assert {record.made for record in made} == {"bagged", "single"}
    for record in made:
        status, said = rerun(run, record.id, capsys)
        assert (status, said["agrees"], said["rows"]) == (0, True, "report")
        assert said["largest_difference"] < 1e-4
        assert said["score_then"] == record.report_score


def test_weights_and_scores_that_are_others_are_told(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    folder = run.trial_folder("probe-1")
    tensors = load_file(folder / "model.safetensors")
    tensors["1.bias_C"][0] += 0.25
    write_head(folder, read_config(folder), save(tensors))
    assert main(COMMAND, ["--rerun", str(run.path), "probe-1", "--quiet"]) == 2
    assert "probe-1/config.json: is damaged" in capsys.readouterr().err
    note_files(run, "probe-1")
    status, said = rerun(run, "probe-1", capsys)
    assert (status, said["identical"]) == (0, False)
    assert said["largest_difference"] == pytest.approx(0.25, abs=1e-4)

    *_, end = [e for e in run.events() if e["event"] == "finish" and e["trial"] == "probe-1"]
    run.journal.append({**end, "score": end["score"] - 0.02})
    status, said = rerun(run, "probe-1", capsys)
    assert (status, said["agrees"]) == (1, False)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["1"], "no trial named '1'; expected one of 0001, "),
        (["0009"], "trial 0009 has no head to compare with; found running"),
        (["0001", "--seed", "0"], "a trial is trained again as it was; expected --rerun RUN TRIAL"),
        (["0001", "--source", "live"], "found --source; leave it out"),
        (["0001", "--dry-run"], "found --dry-run; leave it out"),
    ],
)
def test_what_cannot_be_trained_again_is_one_line(
    words: list[str], message: str, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    run.journal.append({"event": "suggest", "trial": "0009", "config": {}})
    assert main(COMMAND, ["--rerun", str(run.path), *words]) == 2
    said = capsys.readouterr()
    assert message in said.err
    assert (said.err.count("\n"), said.out) == (1, "")
