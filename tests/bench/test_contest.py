"""Many ways to search, compared on one table."""

import numpy as np

from bv_search.bench.contest import Contest
from bv_search.bench.regret import Way


def test_what_is_needed_is_where_the_regret_stays_small() -> None:
    falls = Way(searcher="random", scheduler="none", generation=4)
    curve = np.array([[0.5, 0.04, 0.2, 0.05, 0.0]] * 2)
    contest = Contest(regrets={falls: {("select", "rows"): curve}})
    assert contest.needed(falls) == 4
    worse = Way(searcher="hyperopt", scheduler="none", generation=4)
    two = Contest(
        regrets={
            falls: {("select", "rows"): np.full((4, 8), 0.1)},
            worse: {("select", "rows"): np.full((4, 8), 0.1) + np.array([[0.2], [0.1], [0.2], [0.1]])},
        }
    )
    assert two.worse(worse, falls) == [4, 8]
    assert two.worse(falls, worse) == []
    assert two.needed(worse) is None
