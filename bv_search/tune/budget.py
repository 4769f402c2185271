"""The time that a search may take."""

import time
from typing import Any

from ray.tune import Stopper


class Budget(Stopper):
    """So many seconds from now on; None: as long as it takes. Tune asks it whether to go on."""

    def __init__(self, seconds: float | None) -> None:
        self.end = None if seconds is None else time.monotonic() + seconds

    @property
    def left(self) -> float | None:
        return None if self.end is None else max(0.0, self.end - time.monotonic())

    @property
    def is_spent(self) -> bool:
        return self.end is not None and time.monotonic() >= self.end

    def __call__(self, trial_id: str, result: dict[str, Any]) -> bool:
        """No trial is stopped for itself."""
        return False

    def stop_all(self) -> bool:
        return self.is_spent
