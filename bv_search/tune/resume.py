"""What a resumed run brings along, read from its journal."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bv_search.run.trial import FAILED
from bv_search.tune.space import Config


@dataclass(kw_only=True)
class Past:
    """A trial as an earlier session left it."""

    trial: str
    config: Config
    position: int = 0  # of its saved state
    scores: list[tuple[int, float]] = field(default_factory=list)  # position, select score
    status: str | None = None  # how its training ended, if it did
    finished: bool = False  # its answers are written

    @property
    def is_live(self) -> bool:
        return self.status is None

    @property
    def unheard(self) -> float | None:
        """The score of the head as it stands, which its trial did not live to report."""
        scored = self.is_live and self.scores and self.scores[-1][0] == self.position
        return self.scores[-1][1] if scored else None

    @property
    def score(self) -> float | None:
        return self.scores[-1][1] if self.scores and self.status != FAILED else None


def read_past(events: Sequence[Mapping[str, Any]]) -> list[Past]:
    """Every trial of the journal, in the order of suggestion."""
    past: dict[str, Past] = {}
    for event in events:
        match event["event"]:
            case "suggest":
                past[event["trial"]] = Past(trial=event["trial"], config=event["config"])
            case "segment":
                trial = past[event["trial"]]
                trial.position = event["position"]
                if event["score"] is not None:
                    trial.scores.append((event["position"], event["score"]))
            case "halt":
                past[event["trial"]].status = event["status"]
            case "finish":
                past[event["trial"]].status = event["status"]
                past[event["trial"]].finished = True
    return list(past.values())
