"""Benchmarks say what they lack."""

import pytest

from bv_search.bench.__main__ import COMMAND
from bv_search.command import main


def test_what_is_missing_is_one_clear_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(COMMAND, ["extract"]) == 2
    assert "bench extract needs an encoder" in capsys.readouterr().err
    assert main(COMMAND, ["tea"]) == 2
