"""The best ensemble under a cap: by the loss, of members that fit together."""

from pathlib import Path

import numpy as np
import pytest

from bv_search.ensemble.selection import Panel
from bv_search.scan.store_view import role_index
from bv_search.study.ensembles import choose_capped
from tests.stores import make_class_store

SIZES = [100, 100, 0]  # two heads, and the encoder


@pytest.fixture(scope="module")
def panel(tmp_path_factory: pytest.TempPathFactory) -> Panel:
    """Two heads whose mistakes are others, and an encoder that knows nothing."""
    place: Path = tmp_path_factory.mktemp("capped") / "store"
    store = make_class_store(place)
    index = role_index(store, "select")
    labels_N = np.stack(index["label"].to_numpy())[:, 0]
    rng = np.random.default_rng(0)
    said = [np.stack([-vote_N, vote_N], axis=1) for vote_N in _votes(labels_N, rng)]
    none = np.zeros((len(labels_N), 2), np.float32)
    return Panel.of(
        store.task, index, [list(each.astype(np.float32)) for each in (*said, none)], encoder=True
    )


def _votes(labels_N: np.ndarray, rng: np.random.Generator) -> list[np.ndarray]:
    truth_N = 2 * labels_N - 1
    return [truth_N + 1.5 * rng.normal(size=len(truth_N)) for _ in range(2)]


def test_both_are_taken_where_both_fit(panel: Panel) -> None:
    members = {number for number, _ in choose_capped(panel, SIZES, 200).members}
    assert members >= {0, 1}


def test_one_has_to_do_where_both_are_too_many(panel: Panel) -> None:
    members = {number for number, _ in choose_capped(panel, SIZES, 199).members}
    assert panel.best_alone in members
    assert len(members & {0, 1}) == 1
