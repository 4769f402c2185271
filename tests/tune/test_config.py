"""What words mean to a search alone."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bv_search.options import options_of
from bv_search.run.study import OBJECTIVES
from bv_search.tune.__main__ import TuneArguments
from bv_search.tune.config import (
    More,
    TuneConfig,
    read_folds,
    read_name,
    read_pack,
    read_run,
    read_seeds,
    read_trials,
)
from bv_search.words import WrongWord


@pytest.mark.parametrize(
    ("read", "text", "value"),
    [
        (read_trials, "8", 8),
        (read_trials, "+8", More(8)),
        (read_folds, "auto", None),
        (read_folds, "3", 3),
        (read_pack, "auto", "auto"),
        (read_pack, "7", "7"),
        (read_seeds, "3", 3),
        (read_name, "first", "first"),
        (read_run, "first", Path("first")),
        (read_run, "./first", Path.cwd() / "first"),
    ],
)
def test_a_word_means_a_value_of_a_search(read: Callable[[str], Any], text: str, value: object) -> None:
    assert read(text) == value
    assert type(read(text)) is type(value)


@pytest.mark.parametrize(
    ("read", "text"), [(read_trials, "++8"), (read_folds, "0"), (read_pack, "all"), (read_seeds, "2")]
)
def test_others_mean_nothing(read: Callable[[str], Any], text: str) -> None:
    with pytest.raises(WrongWord, match=r"expected .*; found"):
        read(text)


def test_help_has_all_objectives() -> None:
    (objective,) = (each for each in options_of(TuneConfig) if each.name == "--objective")
    assert objective.option.metavar == "|".join(OBJECTIVES)


def test_a_run_is_gone_on_with_where_it_stands(tmp_path: Path) -> None:
    asked = TuneArguments(resumed=Path("first"), runs=tmp_path, warm_start=(Path("a"), Path("/b")))
    found = asked.config()
    assert type(found) is TuneConfig
    assert (found.resume, found.name, found.runs) == (True, "first", tmp_path)
    assert found.warm_start == (tmp_path / "a", Path("/b"))
    elsewhere = TuneArguments(resumed=tmp_path / "other" / "first").config()
    assert (elsewhere.name, elsewhere.runs) == ("first", tmp_path / "other")
    assert not TuneArguments(name="new").config().resume
