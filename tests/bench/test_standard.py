"""Batches of a store for a plain loop."""

from pathlib import Path

import torch

from bv_search.bench.standard import StandardBatches
from bv_search.tasks.row import Role
from tests.stores import make_span_store


def test_batches_are_standardised_by_the_train_split(tmp_path: Path) -> None:
    store = make_span_store(tmp_path / "store")
    data = StandardBatches(store, 16)
    batches = list(data.read(Role.TRAIN, seed=3))
    hidden_LTH = torch.cat([hidden_LTH for hidden_LTH, *_ in batches], dim=1)
    assert hidden_LTH.shape[1] == store.split("train").entry.tokens
    assert hidden_LTH.mean(dim=1).abs().max() < 1e-4
    assert (hidden_LTH.std(dim=1) - 1).abs().max() < 1e-2
    assert {len(lengths_N) for _, lengths_N, _ in batches} <= {16, 8}
