"""What 16 bits change in the scores of heads."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from bv_search.bench import precision
from bv_search.bench.__main__ import COMMAND
from bv_search.bench.precision import Change
from bv_search.bench.table import Learned
from bv_search.command import main
from bv_search.precision import BFLOAT16, FLOAT32
from bv_search.scan.checks import Check
from bv_search.space.space import Config
from tests.stores import make_class_store


def test_the_same_heads_learn_at_either_precision(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: dict[str, list[Config]] = {FLOAT32: [], BFLOAT16: []}

    class Watched:
        def __init__(self, store: str, *, precision: str, threads: int) -> None:
            self.precision = precision

    def train(scanner: Watched, rungs: object, configs: Sequence[Config]) -> list[Learned]:
        seen[scanner.precision] += configs
        score = 0.5 if scanner.precision == FLOAT32 else 0.6
        checks = [Check(position=1, rows=16, score=score + rise, loss=1.0) for rise in (0.0, 0.2, 0.1)]
        report = score if len(seen[scanner.precision]) % 2 else score + 0.1
        return [Learned(config=c, parameters=1, found=tuple(checks), report=report) for c in configs]

    monkeypatch.setattr(precision, "Scanner", Watched)
    monkeypatch.setattr(precision, "train", train)
    store = make_class_store(tmp_path / "store")
    words = ["precision", "--store", store.path, "--heads", "3", "--rounds", "2", "--json", "--quiet"]
    assert main(COMMAND, words) == 0
    assert seen[FLOAT32] == seen[BFLOAT16]
    assert [config["seed"] for config in seen[FLOAT32]] == [0, 0, 0, 1, 1, 1]
    found = json.loads(capsys.readouterr().out)
    assert found["select"]["mean"] == pytest.approx(0.1)
    assert found["report"]["heads"] == 6


def test_real_heads_are_changed_a_little(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = make_class_store(tmp_path / "store")
    assert main(COMMAND, ["precision", "--store", store.path, "--heads", "2", "--rounds", "1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert abs(found["select"]["mean"]) < 0.1


def test_a_change_has_its_interval() -> None:
    change = Change.of([0.1, 0.3])
    assert change.heads == 2
    assert change.mean == pytest.approx(0.2)
    assert change.half == pytest.approx(1.96 * 0.1, rel=0.01)


def test_one_head_says_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = make_class_store(tmp_path / "store")
    words = ["precision", "--store", store.path, "--heads", "1", "--rounds", "1"]
    assert main(COMMAND, words) == 2
    assert "one head says nothing" in capsys.readouterr().err
