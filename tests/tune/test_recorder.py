"""The recorder brings MLflow up to date, and the search does not wait for it."""

from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest

from bv_search.tune import recorder as module
from bv_search.tune.recorder import LONGEST_SECONDS, MIRROR_SECONDS, Recorder


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
