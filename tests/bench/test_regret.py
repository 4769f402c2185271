"""How far a search is from the best of its table."""

from dataclasses import replace

import numpy as np
import pytest

from bv_search.bench.regret import Way, full_head, regrets, scale_of, search
from bv_search.bench.table import Table
from bv_search.errors import DataError
from tests.bench.synthetic import PASSES, WINDOWS


def regret_of(table: Table, way: Way, *, heads: int, seeds: int = 12) -> np.ndarray:
    """On select, once the rows are read, for every seed."""
    runs = [search(table, way, seed, heads) for seed in range(seeds)]
    return np.array([regrets(table, "select", moments, "rows", [heads])[0] for moments in runs])


def way(searcher: str, scheduler: str = "none", generation: int = 4) -> Way:
    return Way(searcher=searcher, scheduler=scheduler, generation=generation)


@pytest.mark.parametrize("searcher", ["hyperopt", "optuna"])
def test_a_searcher_that_learns_regrets_less_than_chance(table: Table, searcher: str) -> None:
    learned, chance = (regret_of(table, way(each), heads=48, seeds=8) for each in (searcher, "random"))
    assert learned.mean() < 0.8 * chance.mean()


def test_halving_finds_as_much_for_fewer_rows(table: Table) -> None:
    halved = regret_of(table, way("random", "asha", 16), heads=8)
    assert halved.mean() < 0.8 * regret_of(table, way("random"), heads=8).mean()


def test_rows_of_a_search_at_full_length_are_those_of_its_heads(table: Table) -> None:
    moments = search(table, way("random", generation=8), 0, 16)
    assert [moment.rows for moment in moments] == [PASSES * WINDOWS * n for n in range(1, 17)]
    assert [moment.trials for moment in moments] == list(range(1, 17))
    assert full_head(table) == PASSES * WINDOWS


def test_regret_is_zero_for_the_best_and_one_for_the_median(table: Table) -> None:
    scale = scale_of(table, "report")
    values = sorted(each.report for each in table.learned.values() if each.report is not None)
    assert scale.regret(values[-1]) == 0.0
    assert scale.regret(float(np.median(values))) == pytest.approx(1.0)


def test_a_table_that_tells_no_heads_apart_is_refused(table: Table) -> None:
    same = {key: replace(each, report=0.5) for key, each in table.learned.items()}
    with pytest.raises(DataError, match="tells no heads apart on report"):
        scale_of(replace(table, learned=same), "report")
