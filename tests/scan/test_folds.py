"""Folds go by group, and tell which rows judge whom."""

from pathlib import Path

import numpy as np
import pytest

from bv_search.scan.folds import NOBODY, Folds, fold_groups
from bv_search.store.store import Store
from tests.stores import make_class_store

GROUPS = np.random.default_rng(0).integers(0, 2**63, size=400).astype(np.uint64) * np.uint64(2)


def test_windows_of_a_group_are_of_one_fold() -> None:
    groups_N = np.repeat(GROUPS, 3)
    folds_N = fold_groups(groups_N, 7, 5)
    assert (folds_N.reshape(-1, 3) == folds_N[::3, None]).all()


def test_neither_order_nor_company_decides() -> None:
    order = np.random.default_rng(1).permutation(len(GROUPS))
    folds_N = fold_groups(GROUPS, 7, 5)
    np.testing.assert_array_equal(fold_groups(GROUPS[order], 7, 5), folds_N[order])
    np.testing.assert_array_equal(fold_groups(GROUPS[order[:30]], 7, 5), folds_N[order[:30]])


def test_the_seed_decides() -> None:
    assert (fold_groups(GROUPS, 7, 5) != fold_groups(GROUPS, 8, 5)).mean() > 0.5


@pytest.mark.parametrize("count", [2, 5, 10])
def test_folds_are_about_equal(count: int) -> None:
    sizes = np.bincount(fold_groups(GROUPS, 0, count), minlength=count)
    assert len(sizes) == count
    assert abs(sizes - 400 / count).max() < 4 * (400 / count) ** 0.5


def store_of(place: Path, *, tokens: int = 1, **seen: int) -> Store:
    return make_class_store(place, windows=100, tokens=tokens, seen=seen, seed=3)


def test_rows_that_the_encoder_knows_judge_nobody_but_those_of_select(tmp_path: Path) -> None:
    folds = Folds.of(store_of(tmp_path / "store", train=30, select=10), 4)
    assert folds.judged.tolist() == [*range(30, 100), *range(100, 148)]


def test_where_the_encoder_knows_all_of_train_select_judges_alone(tmp_path: Path) -> None:
    folds = Folds.of(store_of(tmp_path / "store", train=100), 4)
    assert folds.judged.tolist() == list(range(100, 148))


@pytest.mark.parametrize("tokens", [1, 12])
def test_every_window_that_heads_learn_from_has_a_fold(tmp_path: Path, tokens: int) -> None:
    """Of many tokens, the last four windows of train do not fill a micro-batch."""
    store = store_of(tmp_path / "store", tokens=tokens)
    folds = Folds.of(store, 4)
    train = store.split("train").index["group"].to_numpy()[: 100 if tokens == 1 else 96]
    select = store.split("select").index["group"].to_numpy()
    np.testing.assert_array_equal(folds.of_N, fold_groups(np.concatenate([train, select]), 3, 4))
    assert folds.judged.tolist() == list(range(len(folds.of_N)))


def test_of_every_window_that_judges_one_copy_speaks(tmp_path: Path) -> None:
    folds = Folds.of(store_of(tmp_path / "store", train=30), 4)
    np.testing.assert_array_equal(folds.speakers_N[30:], folds.of_N[30:])
    assert set(folds.speakers_N[:30]) == {NOBODY}


def test_fewer_windows_can_judge(tmp_path: Path) -> None:
    folds = Folds.of(store_of(tmp_path / "store", train=30), 4)
    assert folds.among(np.arange(20, 35)).judged.tolist() == [30, 31, 32, 33, 34]
