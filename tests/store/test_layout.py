"""Borders of blocks and the order of windows."""

import numpy as np

from bv_search.store.layout import MICRO_BATCH, BlockLimits, plan_blocks, seeded_order


def test_every_block_but_the_last_holds_whole_micro_batches() -> None:
    lengths = np.random.default_rng(0).integers(5, 386, 1000)
    plans = plan_blocks(lengths, lengths, 5376, BlockLimits(bytes=1 << 22, windows=32))
    assert len(plans) > 10
    assert all(plan.windows % MICRO_BATCH == 0 for plan in plans[:-1])
    assert [plan.first for plan in plans] == [0, *np.cumsum([plan.windows for plan in plans])[:-1]]
    assert sum(plan.windows for plan in plans) == 1000
    assert sum(plan.tokens for plan in plans) == sum(plan.encoded for plan in plans) == lengths.sum()


def test_a_block_never_outgrows_the_memory_of_a_worker() -> None:
    lengths = np.full(400, 171)
    token_bytes = 26 * 1024 * 2  # BERT-large: 9 MB a window
    limits = BlockLimits()
    plans = plan_blocks(lengths, lengths, token_bytes, limits)
    assert max(plan.tokens * token_bytes for plan in plans) <= limits.bytes_most
    assert plans[0].windows >= 64


def test_a_block_of_short_rows_is_closed_by_the_work_it_costs() -> None:
    plans = plan_blocks(np.ones(4000), np.full(4000, 50), 6144)
    assert max(plan.encoded for plan in plans) <= BlockLimits().encoded_tokens + MICRO_BATCH * 50
    assert len(plans) > 4


def test_the_order_depends_on_seed_and_split_alone() -> None:
    order = seeded_order(100, 0, "train")
    assert sorted(order) == list(range(100))
    assert list(order) == list(seeded_order(100, 0, "train"))
    assert list(order) != list(seeded_order(100, 1, "train"))
    assert list(order) != list(seeded_order(100, 0, "dev"))


def test_a_prefix_is_a_uniform_sample() -> None:
    firsts = np.array([seeded_order(50, seed, "train")[:10] for seed in range(400)])
    counts = np.bincount(firsts.ravel(), minlength=50)
    assert abs(counts - 80).max() < 5 * np.sqrt(80)
