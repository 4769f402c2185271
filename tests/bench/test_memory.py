"""How much memory a process has, and has had at most."""

import numpy as np
import pytest

from bv_search.bench.memory import LINUX, forget_peak, peak, resident

SIZE = 64 << 20

pytestmark = pytest.mark.skipif(not LINUX, reason="counted by Linux alone")


def test_what_is_held_counts_and_what_was_held_is_remembered_until_it_is_forgotten() -> None:
    forget_peak()
    before = resident()
    held = np.ones(SIZE, np.uint8)
    assert resident() - before > 0.9 * SIZE
    assert peak() - before > 0.9 * SIZE
    del held
    assert resident() - before < 0.5 * SIZE
    assert peak() - before > 0.9 * SIZE
    forget_peak()
    assert peak() - before < 0.5 * SIZE
