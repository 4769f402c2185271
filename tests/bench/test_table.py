"""A table has every head once, and what packs of them take."""

import pytest

from bv_search.bench.table import Table


def test_a_shuffled_table_has_the_same_heads_at_other_points(table: Table) -> None:
    shuffled = table.shuffled(3)
    assert shuffled.learned.keys() == table.learned.keys()
    assert {id(each) for each in shuffled.learned.values()} == {id(each) for each in table.learned.values()}
    moved = [key for key, each in shuffled.learned.items() if each is not table.learned[key]]
    assert len(moved) > 0.9 * len(table.learned)


def test_a_pack_takes_as_long_as_the_heads_that_are_left_in_it(table: Table) -> None:
    assert table.seconds([40_000]) == pytest.approx(1.0)
    assert table.seconds([30_000] * 4) == pytest.approx(1.0)
    assert table.seconds([15_000, 15_000, 15_000, 55_000]) == pytest.approx(0.5 + 1.0)
