"""Whether anybody answers is known within seconds."""

import time
from pathlib import Path

import pytest

from bv_search.doctor import services
from bv_search.doctor.services import SECONDS


def test_whoever_never_answers_is_named_within_seconds(
    silent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_ADDRESS", silent)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://{silent}")
    began = time.monotonic()
    found = services.look(tmp_path)
    assert time.monotonic() - began < 10
    assert [each.trouble for each in found] == [f"no answer within {SECONDS:g} s"] * 2
