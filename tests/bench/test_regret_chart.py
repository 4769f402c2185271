"""A chart of regret has a panel a table, and a line for each searcher."""

from dataclasses import replace
from xml.etree import ElementTree

import numpy as np

from bv_search.bench.contest import DEFAULT, RANDOM, Contest
from bv_search.bench.regret_chart import regret_chart


def contest(*searchers: str) -> Contest:
    falling = np.tile(1.0 / np.arange(1, 9), (3, 1))
    ways = [RANDOM, *(replace(DEFAULT, searcher=searcher) for searcher in searchers)]
    return Contest(regrets={way: {("select", "rows"): falling} for way in ways})


def test_every_table_has_its_panel_and_every_searcher_its_line() -> None:
    svg = regret_chart({"mrpc": contest("hyperopt", "optuna"), "rte": contest("hyperopt", "optuna")})
    ElementTree.fromstring(svg)
    for text in ("regret, mrpc", "regret, rte", "random, at full length", "hyperopt, asha", "optuna, asha"):
        assert svg.count(f">{text}</text>") == 1
    assert "optuna-gp" not in svg
    assert "$" not in svg, "powers of ten are no formulas"
    assert "currentColor" not in svg, "it stands outside of a page"
