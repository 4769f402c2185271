"""The time that a search may take."""

import time

import pytest

from bv_search.tune.budget import Budget


def test_it_is_spent_when_its_seconds_are_over(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    ours = Budget(30.0)
    assert (ours.left, ours.is_spent, ours.stop_all()) == (30.0, False, False)
    now = 131.0
    assert (ours.left, ours.is_spent, ours.stop_all()) == (0.0, True, True)
    assert not ours("a trial", {}), "which is not stopped for itself"


def test_without_seconds_it_is_never_spent() -> None:
    assert Budget(None).left is None
    assert not Budget(None).stop_all()
