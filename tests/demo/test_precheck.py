import re
from pathlib import Path

import pytest

from bv_search.command import main
from bv_search.tune.__main__ import COMMAND


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--space", "adaptors"], "did you mean 'adapters'?"),
        (["--searcher", "hyperop"], "did you mean 'hyperopt'?"),
        (["--scheduler", "asah"], "did you mean 'asha'?"),
        (["--trials", "0"], "found '0'"),
        (["--data", "mine/"], "--data without --store"),
        (["--name", "taken"], "runs/taken: already exists"),
    ],
)
def test_a_mistake_is_told_before_anything_is_made(
    words: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], cache_folder: Path
) -> None:
    (tmp_path / "runs" / "taken").mkdir(parents=True)
    before = sorted(cache_folder.rglob("*"))
    assert main(COMMAND, [*words, "--runs", str(tmp_path / "runs")]) == 2
    line = capsys.readouterr().err
    assert len(line.splitlines()) == 1
    assert re.search(re.escape(says), line)
    assert sorted(cache_folder.rglob("*")) == before


def test_runs_that_cannot_be_kept_are_told_before_anything_is_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], cache_folder: Path
) -> None:
    (tmp_path / "file").write_text("mine")
    before = sorted(cache_folder.rglob("*"))
    assert main(COMMAND, ["--runs", str(tmp_path / "file" / "runs")]) == 2
    assert "file/runs: cannot be written" in capsys.readouterr().err
    assert sorted(cache_folder.rglob("*")) == before
