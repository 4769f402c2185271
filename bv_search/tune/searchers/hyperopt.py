"""HyperOpt's TPE over its own trial documents.

It counts trials without a result towards its start-up, and takes their losses for infinite: asked for a pack
at once it crowds around the first point that it was given. So it sees only what was told, and draws are at
random until that is enough. Given to Ray's adapter, nested points would hang the driver.
"""

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from bv_search.space.distribution import Choice, Distribution, LogUniform, QUniform, RandInt
from bv_search.space.space import Draws, Space
from bv_search.tune.searchers.searcher import Fits, Searcher, Size

if TYPE_CHECKING:
    from hyperopt import Trials


MOST_INTS = 1000  # of which TPE keeps a probability each


class HyperOpt(Searcher):
    finds_fronts = False
    startup_points = 10

    def __init__(
        self, space: Space, seed: int, fits: Fits = lambda draws: True, size: Size | None = None
    ) -> None:
        super().__init__(space, seed, fits, size)
        from hyperopt import Trials, tpe
        from hyperopt.base import Domain

        self._domain = Domain(lambda point: 0.0, _expression(space.tree, ""))
        self._suggest = partial(tpe.suggest, n_startup_jobs=0, verbose=False)
        self._known = Trials()

    def _propose(self, number: int, rng: np.random.Generator) -> Draws | None:
        seed = int(rng.integers(2**31 - 1))
        document = self._suggest([number], self._domain, self._all_known(), seed)[0]
        drawn = {path: values[0] for path, values in document["misc"]["vals"].items() if values}
        return self.space.draw(lambda path, distribution: drawn[path])

    def _all_known(self) -> "Trials":
        """Made anew where more was told since, in the order of their numbers."""
        if len(self._known) == len(self.told):
            return self._known
        from hyperopt import Trials

        self._known = trials = Trials()
        paths = list(self.space.parameters())
        trials.insert_trial_docs(
            [_document(trials, paths, number, *each) for number, each in self.told.items()]
        )
        trials.refresh()
        return trials


def _document(trials: "Trials", paths: list[str], number: int, draws: Draws, score: float) -> dict[str, Any]:
    from hyperopt import JOB_STATE_DONE, STATUS_OK

    misc = {
        "tid": number,
        "cmd": ("domain_attachment", "FMinIter_Domain"),
        "workdir": None,
        "idxs": {path: [number] if path in draws else [] for path in paths},
        "vals": {path: [draws[path]] if path in draws else [] for path in paths},
    }
    result = {"loss": -score, "status": STATUS_OK}
    document: dict[str, Any] = trials.new_trial_docs([number], [None], [result], [misc])[0]
    return {**document, "state": JOB_STATE_DONE}


def _expression(node: Any, path: str) -> Any:
    """The space in HyperOpt's words; labels are our paths."""
    if isinstance(node, dict):
        return {key: _expression(value, f"{path}.{key}" if path else key) for key, value in node.items()}
    if isinstance(node, Distribution):
        return _parameter(node, path)
    return node


def _parameter(distribution: Distribution, path: str) -> Any:
    from hyperopt import hp

    match distribution:
        case Choice(options):
            return hp.choice(path, [_expression(o, f"{path}.{index}") for index, o in enumerate(options)])
        case RandInt(low, high) if high - low > MOST_INTS:
            return hp.quniform(path, low, high - 1, 1)
        case RandInt(low, high):
            return hp.randint(path, low, high)
        case LogUniform(low, high):
            return hp.loguniform(path, math.log(low), math.log(high))
        case QUniform(low, high, step):
            return hp.quniform(path, low, high, step)
        case _:
            return hp.uniform(path, distribution.low, distribution.high)
