"""What studies are asked for, and where their steps leave what."""

from pathlib import Path

import pytest

from bv_search.errors import UnknownName, UserError
from bv_search.study.config import StudiesConfig


def config(**changes: object) -> StudiesConfig:
    said = {"task": "mrpc", "encoder": "bert", "out": Path("out"), **changes}
    return StudiesConfig(**said)  # type: ignore[arg-type]


def test_stages_and_shares_count_once_from_the_least_up() -> None:
    asked = config(stages=(1.0, 0.3, 1.0, 0.0), fractions=(1.0, 0.5, 0.5))
    assert asked.marks == (0.0, 0.3, 1.0)
    assert asked.shares == (0.5, 1.0)


def test_each_step_has_a_place_of_its_own_by_stage() -> None:
    asked = config()
    assert asked.stage_path(0.3) == Path("out/stages/0.3")
    assert asked.store_path(2.0) == Path("out/stores/2")
    assert asked.run_path("heads", 1.0) == Path("out/runs/heads-1")
    assert asked.exchange_path(0.3, 1.0) == Path("out/exchange/0.3-on-1.json")
    assert asked.extraction(1.0).encoder == str(asked.stage_path(1.0))


def test_without_stores_nothing_is_kept_of_the_hidden_states() -> None:
    assert config().extraction(1.0).format == "npy"
    assert config(keep_stores=False).extraction(1.0).format == "none"


def test_stages_and_studies_may_be_added_later_and_nothing_else_may_change() -> None:
    begun = config().settings()
    assert config(stages=(0.0, 0.7), only=("curve",), cap=5.0).settings() == begun
    for changes in ({"seeds": 2}, {"trials": 9}, {"heads": "adapters"}, {"keep_stores": False}):
        assert config(**changes).settings() != begun


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"only": ("curves",)}, UnknownName, "did you mean 'curve'"),
        ({"only": ()}, UserError, "no study is asked for"),
        ({"fractions": (0.0, 1.0)}, UserError, "a fraction of the data is wrong"),
        ({"fractions": ()}, UserError, "no fractions of the data"),
        ({"seeds": 0}, UserError, "the number of seeds is wrong"),
        ({"cap": 100.5}, UserError, "the cap is wrong"),
        ({"stages": (-1.0,)}, UserError, "a fraction of epochs is wrong"),
    ],
)
def test_what_makes_no_sense_is_refused(
    changes: dict[str, object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        config(**changes)
