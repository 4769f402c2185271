"""The training loop that one would write oneself."""

from pathlib import Path

import pytest

from bv_search.bench.loop import train_loop
from tests.stores import make_class_store, make_span_store


@pytest.mark.parametrize("tokens", [1, 6])
def test_the_plain_loop_learns(tmp_path: Path, tokens: int) -> None:
    finding = train_loop(make_class_store(tmp_path / "store", tokens=tokens))
    assert finding.report.score > 0.8


def test_the_plain_loop_learns_spans(tmp_path: Path) -> None:
    finding = train_loop(make_span_store(tmp_path / "store", windows=400))
    assert finding.report.score > 0.3
