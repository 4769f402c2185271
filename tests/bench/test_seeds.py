"""What one search announces, beside what the next one finds."""

import json
from pathlib import Path

import pytest

from bv_search.bench import seeds
from bv_search.bench.__main__ import COMMAND
from bv_search.bench.seeds import Announcement
from bv_search.command import main
from tests.stores import make_class_store


def announcement(score: float, word: str) -> Announcement:
    return Announcement(
        score=score, select=score + 0.1, interval=(score - 0.2, score + 0.2), order={"head and probe": word}
    )


def test_each_announcement_is_held_against_the_next_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[tuple[int, tuple[str, ...]]] = []

    def announce(store: object, trials: int, seed: int, options: tuple[str, ...]) -> Announcement:
        asked.append((seed, options))
        return announcement([0.5, 0.6, 0.9][seed], ["better", "better", "worse"][seed])

    monkeypatch.setattr(seeds, "announce", announce)
    store = make_class_store(tmp_path / "store")
    assert main(COMMAND, ["seeds", "--store", store.path, "--rounds", "3", "--json", "--quiet"]) == 0
    assert asked == [(seed, options) for seed in range(3) for options in (("--folds", "1"), ())]
    found = json.loads(capsys.readouterr().out)["arms"]["folds"]
    assert found["held"]["the score is in the interval"] == pytest.approx(1 / 3)
    assert found["held"]["head and probe"] == pytest.approx(1 / 3)
    assert (found["lowest_score"], found["highest_score"]) == (0.5, 0.9)
    assert found["select_above_report"] == pytest.approx(0.1)


@pytest.mark.slow
def test_searches_are_announced_by_what_they_print(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    said = seeds.announce(make_class_store(tmp_path / "store"), 2, 7, ("--folds", "1"))
    assert said.interval[0] <= said.score <= said.interval[1]
    assert set(said.order.values()) <= {"better", "worse", "not better"}
    assert "best head and probe" in said.order


def test_one_search_agrees_with_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = make_class_store(tmp_path / "store")
    assert main(COMMAND, ["seeds", "--store", store.path, "--rounds", "1"]) == 2
    assert "one search has nothing to agree with" in capsys.readouterr().err
