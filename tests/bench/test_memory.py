"""How much memory a process has, and has had at most."""

from mmap import PAGESIZE, mmap

import pytest

from bv_search.bench.memory import LINUX, forget_peak, peak, resident

SIZE = 64 << 20

pytestmark = pytest.mark.skipif(not LINUX, reason="counted by Linux alone")


def test_what_is_held_counts_and_what_was_held_is_remembered_until_it_is_forgotten() -> None:
    forget_peak()
    before = resident()
    held = mmap(-1, SIZE)  # not of what the process has kept
    for page in range(0, SIZE, PAGESIZE):
        held[page] = 1
    assert resident() - before > 0.9 * SIZE
    assert peak() - before > 0.9 * SIZE
    held.close()
    assert resident() - before < 0.5 * SIZE
    assert peak() - before > 0.9 * SIZE
    forget_peak()
    assert peak() - before < 0.5 * SIZE
