"""Linear models as one writes them with scikit-learn: on each channel, on their mean, on all side by side.

N rows, L channels, H width, F features, C outputs.
"""

import warnings
from itertools import product
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from bv_search.bench.finding import Finding, find
from bv_search.scan.store_view import role_index
from bv_search.store.dtype import widen
from bv_search.store.store import Store
from bv_search.tasks.row import Role
from bv_search.tasks.task import Logits

STRENGTHS = (1e-3, 1e-2, 1e-1, 1.0)  # C of LogisticRegression, 1 / alpha of Ridge
MEAN, ALL = "mean", "all"


def fit_linear(store: Store, *, threads: int) -> Finding:
    """The model that is best on select."""
    models = LinearModels(store)
    with threadpool_limits(threads), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what is not solved to its end the score tells
        tried = [models.fit(*each) for each in product((*store.manifest.layers, MEAN, ALL), STRENGTHS)]
    return max(tried, key=lambda finding: finding.select)


class LinearModels:
    """What all models of a store share: its first tokens and its labels."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._hidden = {role: first_tokens(store, role) for role in Role}
        self._labels_N = np.concatenate(role_index(store, Role.TRAIN, ["label"])["label"].to_numpy())

    def fit(self, view: str, strength: float) -> Finding:
        classes = self._store.task.labels
        model = LogisticRegression(C=strength, max_iter=1000) if classes else Ridge(alpha=1 / strength)
        fitted = make_pipeline(StandardScaler(), model).fit(self._features(Role.TRAIN, view), self._labels_N)
        logits = {role: self._logits(fitted, role, view) for role in (Role.SELECT, Role.REPORT)}
        return find(self._store, f"{model} on {view}", logits)

    def _features(self, role: Role, view: str) -> np.ndarray:
        hidden_NLH = self._hidden[role]
        if view == MEAN:
            mean_NH: np.ndarray = hidden_NLH.mean(axis=1)
            return mean_NH
        if view == ALL:
            return hidden_NLH.reshape(len(hidden_NLH), -1)
        return hidden_NLH[:, self._store.manifest.layers.index(view)]

    def _logits(self, model: Any, role: Role, view: str) -> list[Logits]:
        answers_N = model.predict(self._features(role, view))
        if not self._store.task.labels:
            return list(answers_N[:, None])
        return list(np.eye(self._store.task.outputs, dtype=np.float32)[answers_N.astype(int)])


def first_tokens(store: Store, role: Role) -> np.ndarray:
    """hidden_NLH of the first token of every window."""
    parts = []
    for split in store.splits(role):
        for block in split.blocks():
            firsts_N = np.cumsum(block.lengths) - block.lengths
            hidden_LNH = widen(block.hidden_LTH[:, firsts_N], store.manifest.dtype)
            parts.append(hidden_LNH.transpose(1, 0, 2))
    return np.concatenate(parts)
