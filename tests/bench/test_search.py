"""What the command says of ways to search."""

import json
from pathlib import Path

import pytest

from bv_search.bench.__main__ import COMMAND
from bv_search.bench.contest import DEFAULT
from bv_search.bench.table import Table
from bv_search.command import main


def test_the_command_says_what_the_defaults_are_worth(
    tmp_path: Path, table: Table, capsys: pytest.CaptureFixture[str]
) -> None:
    place, plot = tmp_path / "made.parquet", tmp_path / "plot.svg"
    table.write(place)
    options = ["--table", str(place), "--seeds", "2", "--budget", "8", "--plot", str(plot)]
    few = ["--searchers", "random", "hyperopt", "--generations", "4"]
    assert main(COMMAND, ["search", *options, *few, "--json", "--quiet"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["default"] == str(DEFAULT)
    found = said["tables"]["made"]["ways"]["hyperopt, none, 4"]
    assert len(found["select"]["rows"]) == len(found["report"]["seconds"]) == 8
    assert plot.read_text().startswith("<svg")
