"""Compiled, dense layers behind a gelu add up row by row."""

import torch

from bv_search.cpu.dense import CompiledDense
from tests.heads.branches.test_dense import FEATURES, ROWS, found_by, some, some_dense, some_masks


def test_how_rows_are_cut_changes_no_bit() -> None:
    before_RN, masks = some(ROWS, FEATURES), some_masks()
    whole, cut = (found_by(CompiledDense(some_dense()), before_RN, masks, pieces) for pieces in (1, 5))
    torch.testing.assert_close(cut, whole, atol=0.0, rtol=0.0)
