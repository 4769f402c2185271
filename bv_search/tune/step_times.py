"""Where the seconds of a search went."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

WORK = {"solve": "ladder", "segment": "scan"}  # what scan workers do while it searches
STEPS = ("start", "ladder", "scan", "schedule", "score", "finale", "ensemble", "register")


@dataclass(kw_only=True)
class StepTimes:
    begun: float = field(default_factory=time.monotonic)
    noted: dict[str, float] = field(default_factory=dict)

    def note(self, step: str) -> None:
        """The time since the last note belongs to this step."""
        self.noted[step] = time.monotonic() - self.begun - sum(self.noted.values())

    def spent(self, busy: Mapping[str, float]) -> dict[str, float]:
        """By step, and in all; `busy` says how long a worker was at each method, on average.

        What is left of the search is `schedule`: trials, the journal, and waiting for others of a round.
        """
        steps = {step: seconds for step, seconds in self.noted.items() if step != "search"}
        work = {step: busy.get(method, 0.0) for method, step in WORK.items()}
        steps |= work | {"schedule": max(0.0, self.noted.get("search", 0.0) - sum(work.values()))}
        return {"total": sum(self.noted.values()), **{step: steps[step] for step in STEPS if step in steps}}


def describe(spent: Mapping[str, float]) -> str:
    """As a line."""
    steps = ", ".join(f"{step} {spent[step]:.1f}" for step in STEPS if spent.get(step, 0.0) >= 0.05)
    return f"time: {spent['total']:.1f} s: {steps}"
