"""Rows are read in the store's order first, then in blocks reshuffled by seed."""

import pytest

from bv_search.scan.order import parts, pass_length, rows_at
from bv_search.store.block import Part

BLOCKS = (32, 32, 20)


def plan(start: int, stop: int, rows: int = 84, seed: int = 0) -> list[tuple[int, int, int]]:
    return [
        (part.block, part.start, part.stop)
        for part in parts(BLOCKS, rows=rows, start=start, stop=stop, seed=seed)
    ]


def test_the_first_pass_reads_the_store_in_order() -> None:
    assert plan(0, 6) == [(0, 0, 32), (1, 0, 32), (2, 0, 20)]


def test_segments_meet_where_they_part() -> None:
    assert plan(0, 3) == [(0, 0, 32), (1, 0, 16)]
    assert plan(3, 6) == [(1, 16, 32), (2, 0, 20)]


def test_a_fraction_reads_the_first_rows_and_nothing_more() -> None:
    assert plan(0, 3, rows=48) == [(0, 0, 32), (1, 0, 16)]


def test_later_passes_read_every_row_once_in_another_order() -> None:
    orders = {tuple(plan(6 * n, 6 * (n + 1))) for n in range(1, 8)}

    assert len(orders) > 1
    for order in orders:
        assert sorted(order) == [(0, 0, 32), (1, 0, 32), (2, 0, 20)]


def test_a_later_pass_can_be_cut_anywhere() -> None:
    whole = plan(6, 12)
    for cut in range(7, 12):
        windows = [
            (part.block, window)
            for span in ((6, cut), (cut, 12))
            for part in parts(BLOCKS, rows=84, start=span[0], stop=span[1], seed=0)
            for window in range(part.start, part.stop)
        ]
        assert windows == [(block, w) for block, start, stop in whole for w in range(start, stop)]


def test_the_seed_decides_the_order_of_later_passes() -> None:
    assert [plan(6, 30, seed=1)] != [plan(6, 30, seed=2)]
    assert plan(6, 30, seed=1) == plan(6, 30, seed=1)


def test_positions_count_micro_batches() -> None:
    assert pass_length(84) == 6


@pytest.mark.parametrize("seed", range(5))
def test_rows_are_those_that_were_read(seed: int) -> None:
    seen = 0
    for position in range(25):
        assert rows_at(BLOCKS, rows=84, position=position, seed=seed) == seen
        (part,) = parts(BLOCKS, rows=84, start=position, stop=position + 1, seed=seed)
        seen += part.stop - part.start
    assert rows_at(BLOCKS, rows=84, position=24, seed=seed) == 4 * 84


def test_a_part_is_inside_its_block() -> None:
    assert all(
        isinstance(part, Part) and part.stop <= BLOCKS[part.block]
        for part in parts(BLOCKS, rows=84, start=0, stop=60, seed=3)
    )
