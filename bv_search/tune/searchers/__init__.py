"""Searchers: who decides which point of a space is tried next."""

from collections.abc import Callable

from bv_search.tune.searchers.grid import Grid
from bv_search.tune.searchers.hyperopt import HyperOpt
from bv_search.tune.searchers.optuna import Optuna
from bv_search.tune.searchers.random import Random
from bv_search.tune.searchers.searcher import Searcher
from bv_search.tune.space import Space

SEARCHERS: dict[str, Callable[[Space, int], Searcher]] = {
    "hyperopt": HyperOpt,
    "optuna": Optuna,
    "random": Random,
    "grid": Grid,
}

__all__ = ["SEARCHERS", "Searcher"]
