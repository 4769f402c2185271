"""How many heads share a pass is planned by memory."""

import torch

from bv_search.heads.config import AdapterHead, HeadShape, PoolingHead
from bv_search.scan.capacity import LARGEST, free_memory, pack_capacity

CPU = torch.device("cpu")
SMALL = HeadShape(layers=3, width=8, outputs=2, per_token=True)
BERT_LARGE = HeadShape(layers=25, width=1024, outputs=2, per_token=True)


def test_small_heads_share_as_many_as_is_useful() -> None:
    assert pack_capacity([PoolingHead()], SMALL, tokens=100, device=CPU) == LARGEST


def test_the_largest_head_decides() -> None:
    both = [PoolingHead(), AdapterHead(size=386, shared=False)]

    assert pack_capacity(both, BERT_LARGE, tokens=16 * 386, device=CPU) == pack_capacity(
        both[1:], BERT_LARGE, tokens=16 * 386, device=CPU
    )


def test_a_head_that_does_not_fit_still_gets_a_pass_of_its_own() -> None:
    giant = AdapterHead(size=10_000_000, shared=False)

    assert pack_capacity([giant], BERT_LARGE, tokens=16 * 386, device=CPU) == 1


def test_memory_that_can_be_had_is_less_than_there_is() -> None:
    assert 1 << 28 < free_memory(CPU) < 1 << 50


def test_memory_for_blocks_is_not_for_heads() -> None:
    heads, tokens = [AdapterHead(size=386, shared=False)], 16 * 386
    alone = pack_capacity(heads, BERT_LARGE, tokens=tokens, device=CPU)

    beside = pack_capacity(heads, BERT_LARGE, tokens=tokens, device=CPU, reserved=free_memory(CPU))

    assert beside == 1 < alone
