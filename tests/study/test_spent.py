"""What steps were quoted to take, beside what they took."""

from pathlib import Path

from bv_search.study.config import StudiesConfig
from bv_search.study.quote import StepQuote
from bv_search.study.spent import spent_table
from bv_search.study.table import Cell


def fill(place: Path, size: int) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(bytes(size))


def rows_of(config: StudiesConfig) -> dict[Cell, tuple[Cell, ...]]:
    quoted = {
        "finetune": StepQuote(name="finetune", seconds=10.0, bytes=1000),
        "extract 1": StepQuote(name="extract 1", seconds=5.0, bytes=50),
        "exchange 1 on 0.3": StepQuote(name="exchange 1 on 0.3", seconds=1.0, bytes=7),
    }
    took = {"finetune": 20.0, "extract 0.3": 3.0}
    return {row[0]: row[1:] for row in spent_table(config, quoted, took).rows}


def config(out: Path, *only: str) -> StudiesConfig:
    return StudiesConfig(task="mrpc", encoder="bert", out=out, stages=(0.3, 1.0), only=only)


def test_each_step_has_both_where_both_are_known(tmp_path: Path) -> None:
    asked = config(tmp_path, "layers")
    fill(asked.stage_path(0.3) / "weights", 30)
    fill(asked.stage_path(1.0) / "deep" / "weights", 12)
    fill(asked.store_path(1.0) / "block", 8)
    found = rows_of(asked)
    assert found["finetune"] == (10.0, 20.0, 1000, 42)
    assert found["extract 1"] == (5.0, None, 50, 8)
    assert found["extract 0.3"] == (None, 3.0, None, 0)


def test_in_all_counts_the_seconds_of_steps_that_have_both(tmp_path: Path) -> None:
    asked = config(tmp_path, "layers")
    fill(asked.stage_path(0.3) / "weights", 30)
    fill(tmp_path / "runs" / "mlartifacts" / "copy", 4)
    assert rows_of(asked)["in all"] == (10.0, 20.0, 1050, 34)


def test_exchanges_are_one_line(tmp_path: Path) -> None:
    asked = config(tmp_path, "transfer")
    fill(asked.exchange_path(0.3, 1.0), 5)
    fill(asked.exchange_path(1.0, 0.3), 6)
    found = rows_of(asked)
    assert found["2 × exchange"] == (1.0, None, 7, 11)
    assert not [name for name in found if str(name).startswith("exchange ")]
