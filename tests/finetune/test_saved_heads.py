"""The heads of a stage are a run beside it, of this stage and this ride alone."""

from dataclasses import replace
from pathlib import Path

import pytest

from bv_search.errors import OutputError
from bv_search.finetune.ride import plan_ride
from bv_search.finetune.saved_heads import find_heads, heads_folder, is_heads_folder, read_heads
from bv_search.finetune.stage_folder import SavedStage
from bv_search.run.folder import Run
from tests.finetune.conftest import SPACE

RIDE = plan_ride(SPACE, trials=None, seed=0)


def test_they_stand_beside_the_stages(ridden: list[SavedStage], tmp_path: Path) -> None:
    out = ridden[-1].path.parent
    assert heads_folder(out, 2.0) == out / "heads" / "2"
    assert is_heads_folder(out / "heads")
    assert not is_heads_folder(out)
    (tmp_path / "heads" / "thesis").mkdir(parents=True)
    assert not is_heads_folder(tmp_path / "heads")


def test_the_best_by_select_stands_for_them(ridden: list[SavedStage]) -> None:
    path = heads_folder(ridden[-1].path.parent, 2.0)
    saved = read_heads(path, kept=True)
    assert saved.heads == 4
    assert saved.score == max(record.score or 0.0 for record in Run.open(path).trials())
    assert saved.seconds > 0
    assert saved == replace(ridden[-1].heads or saved, kept=True)


def test_those_that_are_there_are_found_again(ridden: list[SavedStage], tmp_path: Path) -> None:
    last = ridden[-1]
    found = find_heads(last.path.parent, last.stage, RIDE, 4)
    assert found is not None
    assert found.kept
    assert find_heads(tmp_path, last.stage, RIDE, 4) is None


@pytest.mark.parametrize("what", ["seed", "trials", "encoder", "space"])
def test_those_of_another_ride_are_refused_by_what_is_other(ridden: list[SavedStage], what: str) -> None:
    last = ridden[-1]
    stage = replace(last.stage, weights="xxh3:0") if what == "encoder" else last.stage
    ride = replace(RIDE, seed=1) if what == "seed" else RIDE
    if what == "space":
        ride = plan_ride({"space": {**SPACE["space"], "learning_rate": 1e-3}}, trials=None, seed=0)
    with pytest.raises(OutputError, match=f"found another {what}; choose"):
        find_heads(last.path.parent, stage, ride, 3 if what == "trials" else 4)
