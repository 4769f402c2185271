"""The command writes, prints and mirrors a report."""

import json
from typing import Any

import pytest

from bv_search.command import main
from bv_search.report.__main__ import COMMAND
from bv_search.run import Run
from tests.model.small_run import Small


def test_the_command_writes_prints_and_mirrors(run: Run, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(COMMAND, [str(run.path), "--json", "--quiet"]) == 0
    value: dict[str, Any] = json.loads(capfd.readouterr().out.splitlines()[-1])
    assert value["run"] == str(run.path)
    assert [each["model"] for each in value["standings"]][:2] == ["majority", "encoder"]
    best = next(each for each in value["standings"] if each["model"] == "best head")
    assert best["over_below"]["model"] == "probe"
    assert best["over_ladder"]["verdict"] in {"better", "a tie", "worse"}
    assert list((run.path.parent / "mlartifacts").rglob("report.html"))
    assert main(COMMAND, [str(run.path)]) == 0
    assert "scores" in capfd.readouterr().out


def test_a_search_that_is_still_going_on_keeps_its_mirror_to_itself(
    run: Run, capfd: pytest.CaptureFixture[str]
) -> None:
    with run.writing():
        assert main(COMMAND, [str(run.path)]) == 0
    assert "not in MLflow" in capfd.readouterr().err
    assert not list((run.path.parent / "mlartifacts").rglob("report.html"))


def test_what_is_no_finished_run_is_one_line(
    small: Small, run: Run, capfd: pytest.CaptureFixture[str]
) -> None:
    for arguments, complaint in (
        ([str(small.data)], "is not a run"),
        ([str(run.path), str(run.path)], "is named twice"),
        ([str(run.path), "--data", str(small.data / "dev.json")], "was made of other data"),
    ):
        assert main(COMMAND, [*arguments, "--quiet"]) == 2
        err = capfd.readouterr().err
        assert complaint in err
        assert err.count("\n") == 1
    assert not (run.path / "report.html").exists()
