"""The recorder writes down what becomes of heads, and brings MLflow up to date without waiting for it."""

from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bv_search.run.folder import Run
from bv_search.run.trial import fold
from bv_search.scan.checks import Check
from bv_search.scan.outcome import SegmentResult
from bv_search.tune import recorder as module
from bv_search.tune.recorder import LONGEST_SECONDS, MIRROR_SECONDS, Recorder
from bv_search.tune.resume import read_past


def test_while_mlflow_is_away_it_is_tried_ever_less_often(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, tries, reached = 0.0, [], False

    def sync() -> bool:
        tries.append(now)
        return reached

    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now))
    parts: dict[str, Any] = {"run": SimpleNamespace(path=tmp_path), "store": None}
    recorder = Recorder(**parts, mirror=SimpleNamespace(sync=sync))  # type: ignore[arg-type]
    for second in range(1, 3000):
        now, reached = float(second), second > 2000
        recorder.mirror()

    pauses = [later - earlier for earlier, later in pairwise(tries)]
    assert pauses[:3] == [2 * MIRROR_SECONDS + 1, 4 * MIRROR_SECONDS + 1, 8 * MIRROR_SECONDS + 1]
    assert max(pauses) == LONGEST_SECONDS + 1
    assert pauses[-1] == MIRROR_SECONDS + 1


def test_what_is_recorded_of_a_head_is_read_again(tmp_path: Path) -> None:
    """By a resumed session, and by all who look at the run; its state is there before the event is."""
    run = Run(tmp_path, study=None)  # type: ignore[arg-type]
    recorder = Recorder(run, store=None, mirror=None)  # type: ignore[arg-type]
    first, second = (Check(position=n, rows=16 * n, score=0.1 * n, loss=1.0 / n) for n in (3, 6))
    config = {"head": {"kind": "linear"}, "learning_rate": 0.01}
    recorder.suggested("probe-all", config, "probe")
    recorder.suggested("0001", config)
    for position, checks, found, has_learned in (
        (3, (first,), None, False),
        (5, (), first, False),
        (8, (second,), second, True),
    ):
        outcome = SegmentResult(
            trial="0001",
            position=position,
            rows=16 * position,
            state=str(position).encode(),
            has_learned=has_learned,
            checks=checks,
            found=found,
        )
        recorder.segment([outcome], seconds=0.5, over={"0001": "done"} if has_learned else {})
        assert recorder.state("0001", position) == str(position).encode()
    assert [path.name for path in (tmp_path / "states").iterdir()] == ["0001-8.safetensors"]

    events = run.journal.read()
    rung, head = read_past(events)
    assert (rung.rung, rung.config, head.rung) == ("probe", config, None)
    assert (head.position, head.has_learned) == (8, True)
    assert (head.found, head.status) == ([(5, first), (8, second)], "done")
    record = fold(events)["0001"]
    assert (record.rows, record.score, record.loss) == (128, second.score, second.loss)
    assert [(point.rows, point.loss) for point in record.curve] == [(48, first.loss), (96, second.loss)]
    assert fold(events)["probe-all"].rung == "probe"
