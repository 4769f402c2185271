"""A model is opened from a run, a head's folder or a member's name."""

import shutil
from pathlib import Path

import pytest

from bv_search.errors import HeadError, RunError, UnknownName
from bv_search.model.loading import open_model
from bv_search.run import Run
from tests.model.small_run import Small


def test_a_run_without_an_ensemble_answers_with_its_best_head(small: Small) -> None:
    assert open_model(small.run.path).name == small.run.finished_trials()[0].id
    assert open_model(small.run.path, member="smallest").parameters <= open_model(small.run.path).parameters


def test_a_head_taken_out_of_its_run_still_knows_its_encoder(small: Small, tmp_path: Path) -> None:
    shutil.copytree(small.run.trial_folder("0003"), tmp_path / "mine")
    model = open_model(tmp_path / "mine")
    assert (model.name, model.load_encoder().identity.digest) == ("mine", small.store.manifest.encoder.digest)


def test_members_that_do_not_exist_are_one_line(small: Small, tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="did you mean '0002'"):
        open_model(small.run.path, member="002")
    with pytest.raises(RunError, match="has no ensemble; bv-search ensemble"):
        open_model(small.run.path, member="ensemble")
    with pytest.raises(HeadError, match="is neither a run nor a head"):
        open_model(small.data)
    with pytest.raises(HeadError, match="does not exist"):
        open_model(tmp_path / "none")
    with pytest.raises(HeadError, match="chooses in a run, and this is none"):
        open_model(small.run.trial_folder("0001"), member="best")


def test_trials_of_a_copied_run_are_found(run: Run) -> None:
    assert open_model(run.path, member="0003").heads[0].parameter_count() == 486


def test_copies_in_a_folder_of_their_own_know_their_encoder(folded: Small, tmp_path: Path) -> None:
    shutil.copytree(folded.run.trial_folder("0003"), tmp_path / "mine")
    model = open_model(tmp_path / "mine")
    assert [(member.name, len(member.heads)) for member in model.members] == [("mine", 3)]
    assert model.load_encoder().identity.digest == folded.store.manifest.encoder.digest
