"""HyperOpt's TPE over its own trial documents.

Points of ours (starting points, resumed trials) are written into it as documents: given to Ray's adapter,
nested ones hang the driver.
"""

import math
from functools import partial
from typing import Any

import numpy as np
from hyperopt import JOB_STATE_DONE, JOB_STATE_ERROR, STATUS_OK, Trials, hp, tpe
from hyperopt.base import Domain

from bv_search.tune.distribution import Choice, Distribution, LogUniform, QUniform, RandInt
from bv_search.tune.searchers.searcher import Searcher
from bv_search.tune.space import Draws, Space


class HyperOpt(Searcher):
    startup_points = 10

    def __init__(self, space: Space, seed: int) -> None:
        super().__init__(space, seed)
        self._rng = np.random.default_rng(seed)
        self._trials = Trials()
        self._domain = Domain(lambda point: 0.0, _expression(space.tree, ""))
        self._suggest = partial(tpe.suggest, n_startup_jobs=self.startup_points, verbose=False)
        self._documents: dict[str, dict[str, Any]] = {}

    def ask(self, trial: str) -> Draws | None:
        document = self._new_document()
        self._insert(trial, document)
        drawn = {path: values[0] for path, values in document["misc"]["vals"].items() if values}
        return self.space.draw(lambda path, distribution: drawn[path])

    def adopt(self, trial: str, draws: Draws) -> None:
        document = self._new_document()
        misc = document["misc"]
        for path in misc["vals"]:
            known = path in draws
            misc["vals"][path] = [draws[path]] if known else []
            misc["idxs"][path] = [document["tid"]] if known else []
        self._insert(trial, document)

    def tell(self, trial: str, score: float | None) -> None:
        tid = self._documents.pop(trial)["tid"]
        document = next(d for d in self._trials._dynamic_trials if d["tid"] == tid)
        if score is None:
            document["state"] = JOB_STATE_ERROR
        else:
            document["state"] = JOB_STATE_DONE
            document["result"] = {"loss": -score, "status": STATUS_OK}
        self._trials.refresh()

    def _new_document(self) -> dict[str, Any]:
        self._trials.refresh()
        ids = self._trials.new_trial_ids(1)
        seed = int(self._rng.integers(2**31 - 1))
        document: dict[str, Any] = self._suggest(ids, self._domain, self._trials, seed)[0]
        return document

    def _insert(self, trial: str, document: dict[str, Any]) -> None:
        self._trials.insert_trial_docs([document])
        self._trials.refresh()
        self._documents[trial] = document


def _expression(node: Any, path: str) -> Any:
    """The space in HyperOpt's words; labels are our paths."""
    if isinstance(node, dict):
        return {key: _expression(value, f"{path}.{key}" if path else key) for key, value in node.items()}
    if isinstance(node, Distribution):
        return _parameter(node, path)
    return node


def _parameter(distribution: Distribution, path: str) -> Any:
    match distribution:
        case Choice(options):
            return hp.choice(path, [_expression(o, f"{path}.{index}") for index, o in enumerate(options)])
        case RandInt(low, high):
            return hp.randint(path, low, high)
        case LogUniform(low, high):
            return hp.loguniform(path, math.log(low), math.log(high))
        case QUniform(low, high, step):
            return hp.quniform(path, low, high, step)
        case _:
            return hp.uniform(path, distribution.low, distribution.high)
