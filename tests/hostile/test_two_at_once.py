"""Two commands at once on one run, one store, one database: both are right, or one is refused in one line."""

import os
import subprocess
import sys
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path

import pytest

from bv_search.__main__ import main
from bv_search.run.folder import Run
from bv_search.run.mlflow import MlflowMirror
from bv_search.store.store import Store
from bv_search.store.verify import find_damage
from bv_search.tune.__main__ import COMMAND  # with what all of them import, before there are two
from tests.hostile.room import Room

assert COMMAND.name == "tune"
SECONDS = 240.0
TIMES = 3  # each pair, by --slow


def _predict(room: Room) -> list[str]:
    return room.asks_predict("answers.json")


def _extract(room: Room) -> list[str]:
    words = ["extract", "--task", "squad2-span", "--encoder", str(room.small.stage), "--workers", "0"]
    return [*words, "--data", str(room.small.data), "--out", "store", "--threads", "1"]


def _finetune(room: Room) -> list[str]:
    return room.asks_finetune("stages", "0")


def _ensemble(room: Room) -> list[str]:
    return ["ensemble", "run", "--no-mlflow"]


def _report(room: Room) -> list[str]:
    return ["report", "run", "--no-mlflow"]


def _mirrored(room: Room) -> list[str]:
    return ["report", "run"]


Ask = Callable[[Room], list[str]]
PAIRS: dict[str, tuple[Ask, Ask]] = {
    "ensemble": (_ensemble, _ensemble),
    "ensemble and report": (_ensemble, _report),
    "report": (_report, _report),
    "mirrored report": (_mirrored, _mirrored),
    "predict": (_predict, _predict),
    "extract": (_extract, _extract),
    "finetune": (_finetune, _finetune),
}


@pytest.mark.parametrize("pair", ["ensemble and report", "finetune"])
def test_two_at_once_are_right_or_refused(pair: str, room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    prove(pair, room, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("time", range(TIMES))
@pytest.mark.parametrize("pair", PAIRS)
def test_however_two_meet_they_are_right_or_refused(
    pair: str, time: int, room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    prove(pair, room, monkeypatch)


def prove(pair: str, room: Room, patch: pytest.MonkeyPatch) -> None:
    patch.chdir(room.place)
    room.run()
    statuses = at_once([[*ask(room), "--quiet"] for ask in PAIRS[pair]], room.place)
    assert 0 in statuses
    check_what_is_left(room.place)
    again = [main([*ask(room), "--quiet"]) for ask in PAIRS[pair]]
    assert again == [0, 0], "whoever was refused is not, later"


def at_once(commands: list[list[str]], place: Path) -> list[int]:
    """Their exit statuses; who is refused says why in one line."""
    fork = get_context("fork")
    barrier = fork.Barrier(len(commands))

    def run(number: int) -> None:
        with (place / f"said-{number}").open("wb") as said:
            os.dup2(said.fileno(), 2)
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115 - for good, in a process of its own
        barrier.wait()
        status = main(commands[number])
        sys.stderr.flush()
        os._exit(status)

    processes = [fork.Process(target=run, args=(number,)) for number in range(len(commands))]
    for process in processes:
        process.start()
    for number, process in enumerate(processes):
        process.join(SECONDS)
        said = (place / f"said-{number}").read_text()
        assert (process.exitcode, len(said.splitlines())) in {(0, 0), (2, 1)}, said
        assert len(said) <= 501
    return [process.exitcode or 0 for process in processes]


def check_what_is_left(place: Path) -> None:
    assert main(["run", "verify", str(place / "run"), "--quiet"]) == 0
    if (place / "store").exists():
        assert not any(find_damage(Store.open(str(place / "store"))))
    for kind in ("run", "stages", "store"):
        assert not list((place / kind).rglob(".*.part"))


@pytest.mark.slow
@pytest.mark.parametrize("names", [("one", "one"), ("one", "two")], ids=["one run", "one database"])
def test_two_searches_at_once_are_right_or_refused(names: tuple[str, str], room: Room) -> None:
    space = room.write(
        "space.yaml", "space: {head: {kind: pooling}, learning_rate: {uniform: [0.01, 0.1]}, passes: 3}"
    )
    words = [
        "--space",
        space,
        "--store",
        str(room.classes),
        "--trials",
        "3",
        "--folds",
        "1",
        "--finalists",
        "0",
    ]
    words += ["--searcher", "random", "--runs", str(room.place / "runs"), "--quiet"]
    searches = [
        subprocess.Popen(
            [sys.executable, "-m", "bv_search.tune", *words, "--name", name],
            stderr=subprocess.PIPE,
            text=True,
        )
        for name in names
    ]
    ends = [(search.communicate(timeout=SECONDS)[1], search.returncode) for search in searches]
    answers = [(status, len(said.splitlines())) for said, status in ends]
    assert sorted(answers) == ([(0, 0), (2, 1)] if len(set(names)) == 1 else [(0, 0), (0, 0)]), ends
    for name in set(names):
        run = Run.open(room.place / "runs" / name)
        assert len(run.finished_trials()) == len(run.trials())
        assert main(["run", "verify", str(run.path), "--quiet"]) == 0
        mirror = MlflowMirror(run)
        assert all(mirror.child_id(record.id) for record in run.trials()), "nobody's trials are missing"
