"""What a resumed run brings along, read from its journal."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any

from bv_search.run.trial import FAILED
from bv_search.scan.checks import Check, Checks
from bv_search.scan.trial import TrialConfig
from bv_search.space.space import Config
from bv_search.tune.packing import Order, WaitingHead

ROUND = "round"  # the event that notes which heads go together, before they go


@dataclass(kw_only=True)
class Past:
    """A trial as an earlier session left it."""

    trial: str
    config: Config
    rung: str | None = None  # of the ladder, where no search proposed it
    position: int = 0  # of its saved state
    state: str | None = None  # the digest of that
    found: list[tuple[int, Check]] = field(default_factory=list)  # where it stood, and its worth there
    checks: Checks = field(default_factory=Checks)
    has_learned: bool = False
    status: str | None = None  # how its training ended, if it did
    ended: float = inf  # its place among those whose training is over
    is_cut: bool = False  # by the end of a session, on its way
    final: float | None = None  # its score on select, with its answers
    finished: bool = False  # its answers are written

    @property
    def is_live(self) -> bool:
        return self.status is None

    @property
    def best_position(self) -> int:
        """Where it had the weights that are kept."""
        return self.position if self.checks.best is None else self.checks.best.position

    @property
    def typed_config(self) -> TrialConfig:
        return TrialConfig.from_json(self.config)

    @property
    def unheard(self) -> Check | None:
        """What the head is worth as it stands."""
        scored = self.is_live and self.found and self.found[-1][0] == self.position
        return self.found[-1][1] if scored else None

    @property
    def score(self) -> float | None:
        if self.status == FAILED:
            return None
        return self.found[-1][1].score if self.found else self.final

    @property
    def counts(self) -> bool:
        """Whether the search waited for a gain of it: not of a rung, nor where it was not given its time."""
        return self.rung is None and not self.is_live and not self.is_cut


def without_rungs(past: Sequence[Past]) -> list[Past]:
    """Those that a searcher proposed."""
    return [each for each in past if each.rung is None]


def read_round(events: Sequence[Mapping[str, Any]], past: Sequence[Past]) -> tuple[list[Order], list[Past]]:
    """Of the round that was begun last, the orders for heads that are not in, and those that are."""
    orders: Sequence[Mapping[str, Any]] = []
    back: set[str] = set()
    for event in events:
        if event["event"] == ROUND:
            orders, back = event["orders"], set()
        elif event["event"] in ("segment", "finish"):
            back.add(event["trial"])
    known = {each.trial: each for each in past}
    are_in = [known[t] for order in orders for t in order["trials"] if t in back and known[t].is_live]
    left = [
        (order, [known[t] for t in order["trials"] if t not in back and known[t].is_live]) for order in orders
    ]
    return [_order(order, heads) for order, heads in left if heads], are_in


def _order(said: Mapping[str, Any], heads: Sequence[Past]) -> Order:
    waiting = [WaitingHead(trial=h.trial, config=h.typed_config, position=h.position) for h in heads]
    return Order(heads=tuple(waiting), stop=said["stop"], score=frozenset(said["score"]))


def read_past(events: Sequence[Mapping[str, Any]]) -> list[Past]:
    """Every trial of the journal, in the order of suggestion."""
    past: dict[str, Past] = {}
    for number, event in enumerate(events):
        match event["event"]:
            case "suggest":
                past[event["trial"]] = Past(
                    trial=event["trial"], config=event["config"], rung=event.get("rung")
                )
            case "segment":
                trial = past[event["trial"]]
                trial.position = event["position"]
                trial.has_learned, trial.state = event["has_learned"], event["state"]
                for check in event["checks"]:
                    trial.checks = trial.checks.after(_check(check))
                if event["found"] is not None:
                    trial.found.append((event["position"], _check(event["found"])))
            case "halt":
                trial = past[event["trial"]]
                trial.status, trial.ended, trial.is_cut = event["status"], number, event.get("cut", False)
            case "finish":
                trial = past[event["trial"]]
                trial.status, trial.ended = event["status"], min(trial.ended, number)
                trial.finished, trial.final = True, event.get("score")
    return list(past.values())


def _check(said: Mapping[str, Any]) -> Check:
    return Check(position=said["position"], rows=said["rows"], score=said["score"], loss=said["loss"])
