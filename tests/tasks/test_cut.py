import random

import pytest

from bv_search.tasks import Row
from bv_search.tasks.cut import cut_rows


def rows(groups: int, each: int = 1) -> list[Row]:
    return [
        Row(id=f"{group}-{n}", text_a=str(n), group=f"group {group}", label=0.0)
        for group in range(groups)
        for n in range(each)
    ]


@pytest.mark.parametrize(
    ("count", "withheld"),
    [(2, 1), (100, 50), (500, 250), (1000, 300), (3000, 300), (10000, 1000), (10001, 1001)],
)
def test_a_tenth_goes_or_300_rows_where_that_is_no_more_than_half(count: int, withheld: int) -> None:
    kept, gone = cut_rows(rows(count), seed=0, salt="select")
    assert (len(kept), len(gone)) == (count - withheld, withheld)


def test_groups_stay_whole() -> None:
    kept, gone = cut_rows(rows(200, each=7), seed=0, salt="select")
    assert not {row.group for row in kept} & {row.group for row in gone}
    assert 300 <= len(gone) < 307


def test_a_cut_does_not_depend_on_the_order_of_the_rows() -> None:
    ordered = rows(1000)
    shuffled = random.Random(0).sample(ordered, len(ordered))
    assert set(cut_rows(ordered, seed=0, salt="x")[1]) == set(cut_rows(shuffled, seed=0, salt="x")[1])


def test_a_cut_follows_its_seed_and_its_purpose() -> None:
    cuts = [cut_rows(rows(1000), seed=seed, salt=salt)[1] for seed in (0, 1) for salt in ("dev", "select")]
    assert len({frozenset(row.id for row in cut) for cut in cuts}) == 4


def test_order_within_both_parts_is_kept() -> None:
    everything = rows(50)
    for part in cut_rows(everything, seed=0, salt="select"):
        assert sorted(part, key=everything.index) == list(part)


def test_one_huge_group_is_never_all_that_is_left_out() -> None:
    kept, gone = cut_rows([*rows(1, each=500), Row(id="x", text_a="y", group="z")], seed=0, salt="select")
    assert kept
    assert gone
