"""Compiled, dense layers behind a gelu add up row by row."""

import pytest
import torch

from bv_search.cpu.dense import CompiledDense
from tests.heads.branches.test_dense import (
    FEATURES,
    OUTPUTS,
    ROWS,
    SIZES,
    found_by,
    some,
    some_dense,
    some_masks,
)


def test_how_rows_are_cut_changes_no_bit() -> None:
    before_RN, masks = some(ROWS, FEATURES), some_masks()
    whole, cut = (found_by(CompiledDense(some_dense()), before_RN, masks, pieces) for pieces in (1, 5))
    torch.testing.assert_close(cut, whole, atol=0.0, rtol=0.0)


@pytest.mark.parametrize("head", range(len(SIZES)))
def test_a_head_alone_is_what_it_is_beside_the_others(head: int) -> None:
    before_RN, dense_AC = some(ROWS, FEATURES), some_dense()
    starts = [sum(SIZES[:n]) for n in range(len(SIZES) + 1)]
    beside_RX, alone_RC = torch.zeros(ROWS, OUTPUTS * len(SIZES)), torch.zeros(ROWS, OUTPUTS)
    CompiledDense(dense_AC).read_out(before_RN, [None] * len(SIZES), beside_RX)
    own_RA = before_RN[:, starts[head] : starts[head + 1]].contiguous()
    CompiledDense([dense_AC[head]]).read_out(own_RA, [None], alone_RC)
    torch.testing.assert_close(beside_RX[:, head * OUTPUTS : (head + 1) * OUTPUTS], alone_RC)


def test_outputs_are_added_to_what_is_there() -> None:
    dense, before_RN = CompiledDense(some_dense()), some(ROWS, FEATURES)
    once_RX = torch.zeros(ROWS, OUTPUTS * len(SIZES))
    dense.read_out(before_RN, [None] * len(SIZES), once_RX)
    twice_RX = once_RX.clone()
    dense.read_out(before_RN, [None] * len(SIZES), twice_RX)
    torch.testing.assert_close(twice_RX, 2 * once_RX)
