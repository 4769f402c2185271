"""A disk that is full, or only read, at one write of a search: one line, and it can be gone on with."""

import errno
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from bv_search.command import main
from bv_search.errors import BvError
from bv_search.files import PARTS
from bv_search.run.folder import Run
from bv_search.tune.__main__ import COMMAND
from tests.faulty_disk import faulty
from tests.stores import make_class_store
from tests.tune.conftest import ended_alike
from tests.tune.rehearsal import Stage

SPACE = """
space:
  head: {choice: [{kind: pooling, pooling: learned}, {kind: adapter, size: {choice: [2, 4]}}]}
  learning_rate: {loguniform: [0.001, 0.03]}
  passes: {choice: [4, auto]}
  patience: 1
"""
OPTIONS = "--trials 4 --pack 2 --searcher random --folds 1 --finalists 2 --quiet"
SHARES = 8  # of all kinds of writes
LINE = 500  # characters


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A search that nothing disturbed, and how it was asked for."""

    place: Path
    words: Sequence[str]

    @property
    def whole(self) -> Run:
        return Run.open(self.place / "whole" / "it")

    def run(self, runs: Path) -> int:
        return main(COMMAND, [*self.words, "--name", "it", "--runs", str(runs)])

    def go_on(self, runs: Path) -> int:
        """With what is there, or else anew."""
        if not (runs / "it").exists():
            return self.run(runs)
        return main(COMMAND, ["--resume", "it", "--quiet", "--runs", str(runs)])


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Asked:
    Stage(monkeypatch)
    (tmp_path / "small.yaml").write_text(SPACE)
    store = make_class_store(tmp_path / "classes", windows=64)
    words = ["--space", str(tmp_path / "small.yaml"), "--store", store.path, *OPTIONS.split()]
    return Asked(place=tmp_path, words=words)


def walk(
    asked: Asked,
    number: int,
    patch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    every: int,
    first: int,
) -> list[str]:
    """Writes of each kind, the first and the last of it, fail one by one: what was not right."""
    with faulty(asked.place / "whole", patch, number=number) as unbroken:
        assert asked.run(asked.place / "whole") == 0
    chosen = unbroken.kinds()[first::every]
    wrong = []
    for at in chosen:
        try:
            prove(asked, at, number, patch, capsys)
        except (AssertionError, BvError) as error:
            wrong.append(f"{unbroken.done[at]}: {error}")
    return wrong


def prove(
    asked: Asked, at: int, number: int, patch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = asked.place / "runs"
    shutil.rmtree(runs, ignore_errors=True)
    with faulty(runs, patch, at, number) as faults:
        status = asked.run(runs)
    said = capsys.readouterr().err
    assert faults.has_failed
    if status == 0:  # a part that could not be removed, a folder that was there
        assert said == ""
    else:
        assert (status, len(said.splitlines())) == (2, 1), said
        assert len(said) <= LINE + 1, said
        assert asked.go_on(runs) == 0, capsys.readouterr().err
    ended_alike(Run.open(runs / "it"), asked.whole)
    assert not list(runs.rglob(PARTS))
    assert not list((runs / "it" / "states").iterdir())


def test_a_disk_that_is_full_once_costs_a_search_nothing(
    asked: Asked, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert walk(asked, errno.ENOSPC, monkeypatch, capsys, every=31, first=12) == []


@pytest.mark.slow
@pytest.mark.parametrize("first", range(SHARES))
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS], ids=["full", "only read"])
def test_whichever_write_of_a_search_fails_it_can_be_gone_on_with(
    number: int, first: int, asked: Asked, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert walk(asked, number, monkeypatch, capsys, every=SHARES, first=first) == []
