"""Searchers: who decides which point of a space is tried next."""

from bv_search.tune.searchers.grid import Grid
from bv_search.tune.searchers.hyperopt import HyperOpt
from bv_search.tune.searchers.optuna import OptunaGp, OptunaTpe
from bv_search.tune.searchers.random import Random
from bv_search.tune.searchers.searcher import Searcher

SEARCHERS: dict[str, type[Searcher]] = {
    "hyperopt": HyperOpt,
    "optuna": OptunaTpe,
    "optuna-gp": OptunaGp,
    "random": Random,
    "grid": Grid,
}

__all__ = ["SEARCHERS", "Searcher"]
