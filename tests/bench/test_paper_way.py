"""Heads learn from a file of padded windows, in this process or in one of their own."""

from pathlib import Path

import numpy as np
import pytest

from bv_search.bench.paper_way import PaperWay
from bv_search.heads.config import HeadShape
from bv_search.scan.state import HeadState
from bv_search.scan.trial import TrialConfig
from bv_search.tasks.task import Kind


@pytest.fixture
def way(tmp_path: Path) -> PaperWay:
    """40 windows of 3 tokens at most, 2 layers of width 4."""
    pytest.importorskip("h5py")
    from bv_search.bench.hdf5 import write_padded

    rng = np.random.default_rng(0)
    windows = [rng.normal(size=(2, 1 + n % 3, 4)).astype(np.float32) for n in range(40)]
    write_padded(tmp_path / "x.h5", windows, (40, 2, 3, 4))
    labels_ND = np.zeros((40, 2), np.float32)
    return PaperWay(file=tmp_path / "x.h5", labels_ND=labels_ND, kind=Kind.SPAN, threads=1)


def test_every_window_is_read_once_with_its_padding(way: PaperWay) -> None:
    batches = list(way._batches())
    met = [np.arange(40)[batch.windows].tolist() for batch in batches]
    assert sorted(number for numbers in met for number in numbers) == list(range(40))
    for batch, numbers in zip(batches, met, strict=True):
        assert batch.lengths_N.tolist() == [3] * len(numbers)
        (hidden_LTH,) = batch.states.values()
        assert hidden_LTH.shape == (2, 3 * len(numbers), 4)


def test_a_process_that_fails_is_told(way: PaperWay, tmp_path: Path) -> None:
    shape = HeadShape(layers=2, width=4, outputs=2, per_token=True, tokens=3)
    config = TrialConfig.from_json({"head": {"kind": "linear"}, "learning_rate": 0.01})
    state = HeadState.fresh("0001", config, shape, None)
    way.train(state)
    (tmp_path / "x.h5").unlink()
    with pytest.raises(OSError, match=r"x\.h5"):
        way.train(state)
