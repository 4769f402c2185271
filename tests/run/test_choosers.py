"""The rows that choose: of train, only what neither the encoder nor any head has learned from."""

from pathlib import Path

import numpy as np
import pytest

from bv_search.errors import RunError
from bv_search.run.choosers import Choosers, describe, train_answers
from bv_search.run.predictions import write_predictions
from bv_search.run.roles import encoder_logits, role_ids
from bv_search.store.store import Store
from bv_search.tasks.row import Role
from tests.stores import make_class_store, make_span_store

SEEN, TRAIN, SELECT = 30, 100, 48


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """The encoder knows the first 30 windows of train."""
    place = tmp_path_factory.mktemp("choosers") / "store"
    return make_class_store(place, windows=TRAIN, seen={"train": SEEN})


def test_with_folds_all_that_the_encoder_does_not_know_choose(store: Store) -> None:
    choosers = Choosers.of_folds(store, 4)
    assert choosers.train.tolist() == list(range(SEEN, TRAIN))
    assert choosers.index["id"].to_pylist() == [
        *role_ids(store, Role.TRAIN)[SEEN:],
        *role_ids(store, Role.SELECT),
    ]
    assert str(choosers) == "118 rows out of fold"
    assert choosers.to_json() == {"rows": TRAIN - SEEN + SELECT, "out_of_fold": True}


def test_without_folds_select_chooses(store: Store) -> None:
    choosers = Choosers.of_folds(store, 1)
    assert choosers.index["id"].to_pylist() == role_ids(store, Role.SELECT)
    assert str(choosers) == describe(choosers.to_json()) == "48 rows of select"


def test_only_what_all_have_answered_is_shared(store: Store) -> None:
    ids = role_ids(store, Role.TRAIN)
    assert Choosers.shared(store, []).train.tolist() == list(range(SEEN, TRAIN))
    assert Choosers.shared(store, [ids[40:70], ids[60:10:-1]]).train.tolist() == list(range(40, 61))
    assert Choosers.shared(store, [ids[40:], []]).train.tolist() == []


def test_rows_that_the_encoder_knows_never_choose(store: Store) -> None:
    """Whoever says to have answered them."""
    assert Choosers.shared(store, [role_ids(store, Role.TRAIN)]).train.min() == SEEN


def test_the_encoder_answers_from_its_store(store: Store) -> None:
    choosers = Choosers.shared(store, [role_ids(store, Role.TRAIN)[50:90]])
    of_train, of_select = encoder_logits(store, Role.TRAIN), encoder_logits(store, Role.SELECT)
    assert of_train is not None
    assert of_select is not None
    said = choosers.encoder_logits()
    assert said is not None
    np.testing.assert_array_equal(said, [*of_train[50:90], *of_select])


def test_a_trial_answers_from_its_files(tmp_path: Path) -> None:
    """In the order of the rows that choose, which may be fewer; of spans a window's own length."""
    store = make_span_store(tmp_path / "store", windows=20)
    said = {role: encoder_logits(store, role) or [] for role in (Role.TRAIN, Role.SELECT)}
    for role, logits in said.items():
        write_predictions(tmp_path / f"{role}.parquet", role_ids(store, role), logits)
    assert train_answers(tmp_path).keys() == set(role_ids(store, Role.TRAIN))
    choosers = Choosers.shared(store, [role_ids(store, Role.TRAIN)[5:9]])
    found = choosers.trial_logits(tmp_path)
    expected = [*said[Role.TRAIN][5:9], *said[Role.SELECT]]
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_a_trial_without_folds_has_answered_nothing_of_train(store: Store, tmp_path: Path) -> None:
    logits = encoder_logits(store, Role.SELECT) or []
    write_predictions(tmp_path / "select.parquet", role_ids(store, Role.SELECT), logits)
    assert train_answers(tmp_path) == {}
    choosers = Choosers.shared(store, [train_answers(tmp_path)])
    np.testing.assert_array_equal(choosers.trial_logits(tmp_path), logits)


def test_answers_that_are_damaged_are_refused(store: Store, tmp_path: Path) -> None:
    path = write_predictions(tmp_path / "train.parquet", ["a#0"], [np.zeros(2)])
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(RunError, match="is damaged"):
        train_answers(tmp_path)
