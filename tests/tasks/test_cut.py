import random

import pytest

from bv_search.tasks import Row
from bv_search.tasks.cut import cut_rows, doubt_of_cut


def rows(groups: int, each: int = 1) -> list[Row]:
    return sized([each] * groups)


def sized(sizes: list[int]) -> list[Row]:
    """A group of each size."""
    return [
        Row(id=f"{group}-{n}", text_a=str(n), group=f"group {group}", label=0.0)
        for group, size in enumerate(sizes)
        for n in range(size)
    ]


def doubt(kept: tuple[Row, ...], gone: tuple[Row, ...]) -> str | None:
    return doubt_of_cut("select", (row.group for row in kept), (row.group for row in gone))


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


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(
    ("sizes", "withheld"),
    [
        ([1000, *[1] * 9000], 1000),  # a tenth, without the tenth that is one group
        ([10000, *[1] * 10000], 2000),
        ([1900, *[1] * 100], 50),  # nearly all is one group: half of the rest
        ([475, *[1] * 25], 12),
        ([95, 5], 5),
        ([70, 30], 30),
        ([1800, 1500, 1400, 1300, 1000], 1000),  # large ones only: the smallest
        ([1000, 1000, 1], 1000),
        ([100, 100, 100], 100),
    ],
)
def test_a_large_group_stays(sizes: list[int], withheld: int, seed: int) -> None:
    kept, gone = cut_rows(sized(sizes), seed=seed, salt="select")
    assert (len(kept), len(gone)) == (sum(sizes) - withheld, withheld)


@pytest.mark.parametrize("seed", range(8))
def test_groups_of_all_sizes_come_near_to_what_is_wanted(seed: int) -> None:
    everything = sized([3000 // n for n in range(1, 400)])
    _, gone = cut_rows(everything, seed=seed, salt="select")
    assert 0.1 <= len(gone) / len(everything) <= 0.15


def test_a_cut_of_a_larger_file_withholds_the_same_groups_where_it_can() -> None:
    sizes = [2000, *[1 + n % 20 for n in range(900)]]
    part, whole = sized(sizes), sized([*sizes, *[1 + n % 20 for n in range(900)]])
    before, after = ({row.group for row in cut_rows(each, seed=0, salt="x")[1]} for each in (part, whole))
    assert len(before & after) > 0.85 * len(before)
    assert "group 0" not in before | after


@pytest.mark.parametrize(
    ("sizes", "said"),
    [
        (
            [1900, *[1] * 100],
            "select has 50 of 2,000 rows where 300 were wanted: "
            "rows of a group stay together, and the largest group has 1,900.",
        ),
        (
            [2500, 2000, 1800],
            "select has 1,800 of 6,300 rows where 630 were wanted: "
            "rows of a group stay together, and the largest group has 2,500.",
        ),
        ([1000, *[1] * 9000], None),
        ([7] * 200, None),
        ([1] * 5, None),
        ([70, 30], None),
    ],
)
def test_a_cut_far_from_what_was_wanted_is_told(sizes: list[int], said: str | None) -> None:
    assert doubt(*cut_rows(sized(sizes), seed=0, salt="select")) == said


def test_a_split_that_was_not_cut_by_groups_is_no_doubt_of_theirs() -> None:
    everything = tuple(rows(248))
    assert doubt(everything[48:], everything[:48]) is None
