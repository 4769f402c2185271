"""What an arm came to: the one that it chose on select, and how right that is on report."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bv_search.scan.store_view import role_index
from bv_search.store.store import Store
from bv_search.tasks.evaluation import Evaluation
from bv_search.tasks.row import Role


@dataclass(frozen=True, kw_only=True)
class Finding:
    what: str
    select: float  # its score there
    report: Evaluation
    more: Mapping[str, Any] = field(default_factory=dict)  # for the JSON

    def to_json(self) -> dict[str, Any]:
        return {"what": self.what, "select_score": self.select, "score": self.report.score, **self.more}


def find(store: Store, what: str, logits: Mapping[Role, Sequence[np.ndarray]], **more: Any) -> Finding:
    """A finding that is known by its logits on select and report."""
    select, report = (
        store.task.evaluate(role_index(store, role), logits[role]) for role in (Role.SELECT, Role.REPORT)
    )
    return Finding(what=what, select=select.score, report=report, more=more)
