"""A quote says what is left to do, and is kept until it can be held against what it took."""

from pathlib import Path

import pytest

from bv_search.command import Progress
from bv_search.errors import RunError
from bv_search.study.config import StudiesConfig
from bv_search.study.folder import StudyFolder
from bv_search.study.quote import QUOTE, Quote, StepQuote, read_quote, take_quote, write_quote

STEPS = (
    StepQuote(name="extract 1", seconds=30.0, bytes=2e6),
    StepQuote(name="exchange 0 on 1", seconds=1.5, bytes=300),
    StepQuote(name="exchange 1 on 0", seconds=2.5, bytes=300),
)


def test_it_sums_up_its_steps() -> None:
    said = Quote(steps=STEPS, done=4).to_json()
    assert (said["seconds"], said["bytes"], said["done"]) == (34.0, 2_000_600, 4)
    assert [step["name"] for step in said["steps"]] == [step.name for step in STEPS]


def test_a_reader_sees_exchanges_as_one() -> None:
    first, *shown, total = str(Quote(steps=STEPS, done=4)).splitlines()
    assert first == "3 steps to do, 4 done:"
    assert [line.split("  ")[1] for line in shown] == ["extract 1", "2 × exchange".ljust(9)]
    assert "4 s" in shown[-1]
    assert total == "in all: 34 s, 2.00 MB"


def test_what_was_quoted_is_read_again_and_damage_is_seen(tmp_path: Path) -> None:
    assert read_quote(tmp_path) == {}
    write_quote(tmp_path, Quote(steps=STEPS, done=0).by_name)
    assert read_quote(tmp_path) == {step.name: step for step in STEPS}
    path = tmp_path / QUOTE
    path.write_text(path.read_text().replace("30.0", "40.0"))
    with pytest.raises(RunError, match="is damaged"):
        read_quote(tmp_path)


def test_where_all_is_done_nothing_is_measured(made: StudyFolder) -> None:
    said: list[str] = []

    class Told(Progress):
        def update(self, text: str) -> None:
            said.append(text)

    config = StudiesConfig(
        task=made.config.task,
        encoder=made.config.encoder,
        out=made.config.out,
        stages=made.config.stages,
        only=("curve",),
    )
    assert take_quote(config, Told(quiet=True)) == Quote(steps=(), done=1)
    assert said == []
