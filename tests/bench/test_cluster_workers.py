"""Machines of a simulated cluster."""

from bv_search.bench.cluster_workers import (
    MachineCache,
)


def test_a_node_cache_keeps_what_was_read_last() -> None:
    cache = MachineCache(room=2)
    assert [cache.read(chunk) for chunk in (0, 1, 0, 2, 0, 1)] == [False, False, True, False, True, False]
