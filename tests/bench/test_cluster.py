"""What the command says of a simulated cluster."""

import json

import pytest

from bv_search.bench.__main__ import COMMAND
from bv_search.command import main


def test_the_command_says_what_binds(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--work", "bert-large", "--head-rows", "6000", "--disk", "1GB", "--driver-seconds", "0.02"]
    options += ["--sizes", "1", "4", "--trials", "64", "--json", "--quiet"]
    assert main(COMMAND, ["cluster", *options]) == 0
    said = json.loads(capsys.readouterr().out)["works"]["bert-large"]
    assert said["bytes"] == pytest.approx(2.6e12, rel=0.01)
    one, many = said["sizes"]
    assert many["seconds"] < one["seconds"]
    assert sum(many["shares"].values()) == pytest.approx(1.0, abs=0.001)
