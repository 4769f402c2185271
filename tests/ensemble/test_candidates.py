"""Heads of runs on one store may join an ensemble, and the encoder itself."""

from pathlib import Path

import numpy as np
import pytest

from bv_search.ensemble.candidates import Candidate, find_candidates, find_choosers, open_runs
from bv_search.errors import RunError
from bv_search.run import Run
from bv_search.run.roles import encoder_logits
from bv_search.tasks.row import Role
from tests.model.small_run import Small, bag, copy_run, teach


def test_the_best_heads_come_first_and_the_encoder_last(small: Small, run: Run) -> None:
    teach(small, run, "0003", 0.9)
    teach(small, run, "0001", 0.6)
    found = [candidate.name for candidate in find_candidates([run], small.store, limit=2)]
    assert found == ["0003", "0001", "encoder"]


def test_heads_of_several_runs_have_the_names_of_their_runs(small: Small, run: Run, tmp_path: Path) -> None:
    other = copy_run(small, tmp_path / "runs" / "second")
    other.change_study(name="second")
    found = [candidate.name for candidate in find_candidates([run, other], small.store, limit=1)]
    assert [name.partition("/")[0] for name in found] == ["first", "second", "encoder"]


def test_what_a_trial_became_takes_its_place(small: Small, run: Run) -> None:
    bag(run, "0003")
    names = [candidate.name for candidate in find_candidates([run], small.store, limit=9)]
    assert "0003-bagged" in names
    assert not {"0003", "0003-single"} & set(names)


def test_the_encoder_says_what_its_store_has(small: Small) -> None:
    encoder = Candidate(name="encoder")
    assert encoder.parameters == 0
    own = encoder_logits(small.store, Role.REPORT)
    assert own is not None
    for ours, theirs in zip(encoder.reporting(small.store), own, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert encoder.to_json(small.run, 2.0) == {"name": "encoder", "run": ".", "trial": None, "weight": 2.0}


def test_all_say_as_much_of_the_rows_that_choose(small: Small) -> None:
    found = find_candidates([small.run], small.store, limit=9)
    choosers = find_choosers(found, small.store)
    lengths = [[len(window) for window in each.choosing(choosers)] for each in found]
    assert all(each == lengths[0] for each in lengths)


def test_a_run_joins_once(small: Small) -> None:
    with pytest.raises(RunError, match="is named twice"):
        open_runs([small.run.path, small.run.path])
