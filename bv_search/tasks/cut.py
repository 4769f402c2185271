"""Cuts: withholding a slice of rows, whole groups at a time.

Which groups go depends on their content and the seed alone, not on the order of a file, and a cut of
a larger file withholds the same groups where it can. A group that is large beside the slice stays.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence

import xxhash

from bv_search.tasks.row import Row

SHARE = 10  # one row in ten …
LEAST = 300  # … but at least as many as these, where that is not more than half
FAR = 2  # a cut of half as many rows as wanted, or of twice as many, still is one


def cut_rows(rows: Sequence[Row], *, seed: int, salt: str) -> tuple[tuple[Row, ...], tuple[Row, ...]]:
    """(kept, withheld). Neither is empty as long as there are two groups."""
    sizes = Counter(row.group for row in rows)
    order = sorted(sizes, key=lambda group: _place(group, seed, salt))
    withheld = _choose({group: sizes[group] for group in order})
    return (
        tuple(row for row in rows if row.group not in withheld),
        tuple(row for row in rows if row.group in withheld),
    )


def _choose(sizes: Mapping[str, int]) -> set[str]:
    """The first groups, without the large ones; where that is too little, the smallest of those too."""
    rows = sum(sizes.values())
    wanted = _wanted(rows)
    small = [group for group, size in sizes.items() if FAR * size <= wanted]
    # at most half of them, or nothing would be left in training beside a large group
    enough = min(wanted, sum(sizes[group] for group in small) // 2)
    withheld: set[str] = set()
    count = 0
    for group in small[:-1]:
        if count >= enough:
            break
        withheld.add(group)
        count += sizes[group]
    if FAR * count < wanted:
        fitting = [group for group in sizes if group not in small and count + sizes[group] <= rows // 2]
        withheld.update(sorted(fitting, key=lambda group: sizes[group])[:1])
    return withheld or {min(sizes, key=lambda group: sizes[group])}


def _wanted(rows: int) -> int:
    return max(-(-rows // SHARE), min(LEAST, rows // 2))


def _place(group: str, seed: int, salt: str) -> tuple[int, str]:
    """Where a group stands in the order of withholding: as if at random, but always the same."""
    text = f"{seed} {salt} {group}".encode("utf-8", "surrogatepass")
    return int(xxhash.xxh3_64_intdigest(text)), group


def doubt_of_cut(name: str, kept: Iterable[Hashable], withheld: Iterable[Hashable]) -> str | None:
    """A word on a split that large groups made far too small or too large, given the group of every row."""
    ours, theirs = Counter(withheld), Counter(kept)
    count, rows = ours.total(), ours.total() + theirs.total()
    wanted, largest = _wanted(rows), max((ours + theirs).values(), default=0)
    near = FAR * count >= wanted and count <= FAR * wanted
    if near or FAR * largest <= wanted:  # without large groups it is no cut of ours
        return None
    return (
        f"{name} has {count:,} of {rows:,} rows where {wanted:,} were wanted: "
        f"rows of a group stay together, and the largest group has {largest:,}."
    )
