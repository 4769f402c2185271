"""`bv-search run`, from rows to a model to serve; what is done already is not done again."""

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bv_search.cluster import ray_session
from bv_search.command import main
from bv_search.model.loading import model_of_run
from bv_search.model.model import Model
from bv_search.pipeline.config import MODEL, RUN, STAGES, STORE
from bv_search.predict.__main__ import COMMAND as PREDICT
from bv_search.run.__main__ import COMMAND
from bv_search.run.folder import ENSEMBLE, REPORT_HTML, Run
from bv_search.store.layout import MANIFEST
from tests.extract.conftest import write_pairs

SPACE = """
space:
  head: {kind: adapter, size: {choice: [2, 4, 8]}, shared: true}
  learning_rate: {loguniform: [0.001, 0.01]}
  passes: 2
"""


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    with ray_session():
        yield


@pytest.fixture(scope="module")
def words(tiny_encoder: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    place = tmp_path_factory.mktemp("pipeline")
    (place / "data").mkdir()
    write_pairs(place / "data")
    (place / "small.yaml").write_text(SPACE)
    options = {"encoder": tiny_encoder, "data": place / "data", "space": place / "small.yaml"}
    named = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    return ["--task", "mrpc", *named, "--out", str(place / "out")]


def out(words: list[str]) -> Path:
    return Path(words[-1])


def files(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


def ask(words: list[str], capsys: pytest.CaptureFixture[str], *more: str) -> tuple[int, Any, str]:
    status = main(COMMAND, [*words, *more, "--json"])
    said = capsys.readouterr()
    return status, json.loads(said.out) if said.out else None, said.err


def test_all_steps_leave_what_they_should(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    status, said, progress = ask(words, capsys, "--trials", "2")
    assert status == 0, progress
    steps = [line.partition(",")[0] for line in progress.splitlines() if " of 5, " in line]
    assert steps == [f"{number} of 5" for number in range(1, 6)]
    assert (out(words) / STAGES / "0.3").is_dir()
    assert (out(words) / STORE / MANIFEST).is_file()
    assert said["trials"] == 2
    assert said["report"] == str(out(words) / RUN / REPORT_HTML)
    assert said["ensemble"]["members"]
    assert said["model"] == str(out(words) / MODEL)


def test_its_model_answers_wherever_it_is(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the encoder in it: neither the stage nor the run is needed."""
    moved = tmp_path / "moved"
    (out(words) / MODEL).rename(moved)
    stages = out(words) / STAGES
    stages.rename(tmp_path / "gone")
    try:
        rows = out(words).parent / "data" / "dev.tsv"
        assert main(PREDICT, [str(moved), "--data", str(rows), "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["predictions"] == 24
    finally:
        moved.rename(out(words) / MODEL)
        (tmp_path / "gone").rename(stages)


def test_what_is_done_is_not_done_again(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    kept = {path: time for path, time in files(out(words)).items() if "mlflow" not in path.name}
    kept = {path: time for path, time in kept.items() if not path.name.startswith(".")}
    status, said, progress = ask(words, capsys)
    assert status == 0
    assert said["trials"] == 2
    assert "all 2 trials have ended" in progress
    now = files(out(words))
    assert [path for path, time in kept.items() if now.get(path) != time] == []


def test_a_lost_step_is_made_up_for(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    run = Run.open(out(words) / RUN)
    heads = files(run.path / "trials")
    (run.path / ENSEMBLE).unlink()
    os.utime(run.path / REPORT_HTML, (0, 0))
    assert ask(words, capsys)[0] == 0
    assert (run.path / ENSEMBLE).is_file()
    assert (run.path / REPORT_HTML).stat().st_mtime > 0
    assert files(run.path / "trials") == heads


def test_more_trials_go_on_to_another_ensemble(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    status, said, progress = ask(words, capsys, "--trials", "4")
    assert status == 0, progress
    assert said["trials"] == 4
    run = Run.open(out(words) / RUN)
    assert run.unconsidered() is None
    saved = Model.from_pretrained(out(words) / MODEL)
    assert [member.name for member in saved.members] == [each["name"] for each in said["ensemble"]["members"]]


def test_the_model_of_an_earlier_run_gives_way_though_its_trials_have_the_same_names(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Run.open(out(words) / RUN)
    best = run.finished_trials()[0].id
    member = {"name": best, "run": ".", "trial": best, "weight": 1.0}
    run.write_ensemble({**(run.ensemble() or {}), "method": "single", "members": [member]})
    earlier = model_of_run(run)
    for parameter in (parameter for head in earlier.heads for parameter in head.parameters()):
        parameter.data += 1.0
    earlier.save_pretrained(tmp_path / "earlier", bundle=True)
    shutil.rmtree(out(words) / MODEL)
    shutil.copytree(tmp_path / "earlier", out(words) / MODEL)
    assert ask(words, capsys)[0] == 0
    saved = Model.from_pretrained(out(words) / MODEL)
    assert saved.is_same(model_of_run(run))
    assert not saved.is_same(earlier)


def test_a_folder_of_the_users_does_not_give_way_to_the_model(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = tmp_path / MODEL / "config.json"
    mine.parent.mkdir()
    mine.write_text("{}")
    status, _, complaint = ask([*words[:-1], str(tmp_path)], capsys)
    assert status == 2
    assert "is not a model of bv_search" in complaint
    assert [path.name for path in tmp_path.iterdir()] == [MODEL]
    assert mine.read_text() == "{}"


def test_what_is_wrong_is_one_line_before_any_work(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for changes, complaint in (
        (["--space", "adapter"], "did you mean 'adapters'"),
        (["--task", "mprc"], "did you mean 'mrpc'"),
        (["--encoder", str(tmp_path / "none")], "none"),
        (["--fraction", "-1"], "a fraction of epochs is wrong"),
    ):
        status, _, err = ask([*words, *changes], capsys, "--out", str(tmp_path / "new"), "--quiet")
        assert (status, err.count("\n")) == (2, 1), err
        assert complaint in err
        assert not (tmp_path / "new").exists()
