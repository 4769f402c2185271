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


def test_where_nobody_is_named_nobody_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RAY_ADDRESS", "MLFLOW_TRACKING_URI"):
        monkeypatch.delenv(name, raising=False)
    assert [(each.name, each.address, each.trouble) for each in services.look(tmp_path)] == [
        ("ray", None, None),
        ("mlflow", None, None),
    ]


def test_a_name_and_a_password_are_left_out_of_an_address() -> None:
    assert services.without_secrets("http://me:xy@zzy@there:1/path") == "http://…@there:1/path"
    assert services.without_secrets("http://there:1/path") == "http://there:1/path"
