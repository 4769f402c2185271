"""transformers says nothing while it is told not to."""

from pathlib import Path

import pytest

from bv_search.encoder.checkpoint import load_untrained
from bv_search.encoder.location import locate_encoder
from bv_search.tasks.registry import find_task


def test_transformers_keeps_silent(encoder_folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    load_untrained(locate_encoder(encoder_folder), find_task("squad2-span"), seed=0)
    assert capfd.readouterr() == ("", "")
