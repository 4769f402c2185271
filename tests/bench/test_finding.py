"""What an arm came to is known by its answers on select and report."""

import numpy as np
import pytest

from bv_search.bench.finding import find
from bv_search.scan.store_view import role_index
from bv_search.store.store import Store
from bv_search.tasks.row import Role


def answers(store: Store, role: Role, right: int) -> list[np.ndarray]:
    """Right on so many of the first rows, wrong on the others."""
    labels = [int(label[0]) for label in role_index(store, role)["label"].to_pylist()]
    return [
        np.eye(2, dtype=np.float32)[label if number < right else 1 - label]
        for number, label in enumerate(labels)
    ]


def test_it_chooses_on_select_and_is_right_on_report(store: Store) -> None:
    logits = {Role.SELECT: answers(store, Role.SELECT, 48), Role.REPORT: answers(store, Role.REPORT, 16)}
    finding = find(store, "half a mind", logits, seconds=3)
    assert finding.select == 1.0
    assert finding.report.metrics["accuracy"] == pytest.approx(16 / 64)
    assert finding.to_json() == {
        "what": "half a mind",
        "select_score": 1.0,
        "score": finding.report.score,
        "seconds": 3,
    }
