"""Cuts: withholding a slice of rows, whole groups at a time.

Which groups go depends on their content and the seed alone, not on the order of a file, and a cut of
a larger file withholds the same groups where it can.
"""

from collections import Counter
from collections.abc import Sequence

import xxhash

from bv_search.tasks.row import Row

SHARE = 10  # one row in ten …
LEAST = 300  # … but at least as many as these, where that is not more than half


def cut_rows(rows: Sequence[Row], *, seed: int, salt: str) -> tuple[tuple[Row, ...], tuple[Row, ...]]:
    """(kept, withheld). Neither is empty as long as there are two groups."""
    wanted = max(-(-len(rows) // SHARE), min(LEAST, len(rows) // 2))
    sizes = Counter(row.group for row in rows)
    order = sorted(sizes, key=lambda group: _place(group, seed, salt))
    withheld: set[str] = set()
    count = 0
    for group in order[: len(order) - 1]:
        if count >= wanted:
            break
        withheld.add(group)
        count += sizes[group]
    return (
        tuple(row for row in rows if row.group not in withheld),
        tuple(row for row in rows if row.group in withheld),
    )


def _place(group: str, seed: int, salt: str) -> tuple[int, str]:
    """Where a group stands in the order of withholding: as if at random, but always the same."""
    text = f"{seed} {salt} {group}".encode("utf-8", "surrogatepass")
    return int(xxhash.xxh3_64_intdigest(text)), group
