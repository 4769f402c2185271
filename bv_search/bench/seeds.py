"""Does another seed say the same? One search again and again, each time with a seed of its own.

What a search announces is held against what the next one finds: whether the score of its best head is in the
announced interval, and whether each pair of encoder, best probe and best head is announced in the same order:
better, worse, or neither.
"""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from bv_search.bench.config import BenchConfig
from bv_search.bench.probe import space_of
from bv_search.bench.tune import tune
from bv_search.command import Progress, Result
from bv_search.errors import UserError
from bv_search.model.standings import BEST, Standing, compare
from bv_search.run.folder import Run
from bv_search.scan.ladder import ENCODER, PROBE
from bv_search.store.store import Store
from bv_search.tasks.evaluation import difference

FOLDS = {"one copy": ("--folds", "1"), "folds": ()}
PAIRS = tuple(combinations((BEST, PROBE, ENCODER), 2))


@dataclass(frozen=True, kw_only=True)
class Announcement:
    """What one search says."""

    score: float  # of its best head, on report
    select: float
    interval: tuple[float, float]
    order: Mapping[str, str]  # of a pair: what the first is beside the second

    def holds_for(self, fresh: "Announcement") -> dict[str, bool]:
        same = {pair: word == fresh.order[pair] for pair, word in self.order.items()}
        low, high = self.interval
        return {"the score is in the interval": low <= fresh.score <= high, **same}


def run(asked: BenchConfig, progress: Progress) -> Result:
    if asked.rounds < 2:
        raise UserError("one search has nothing to agree with", where="--rounds", expected="2 or more")
    store = Store.open(asked.required_store)
    said: dict[str, list[Announcement]] = {arm: [] for arm in FOLDS}
    for seed in range(asked.rounds):  # the arms take turns
        for arm, options in FOLDS.items():
            progress.update(f"seed {seed}, {arm}")
            said[arm].append(announce(store, asked.trials, seed, options))
    found = {arm: _summary(announced) for arm, announced in said.items()}
    lines = [f"{store.task.name}: {asked.rounds} searches of {asked.trials} trials each, by their seeds"]
    lines += [line for arm, values in found.items() for line in (f"  {arm}", *_lines(values))]
    return Result(text="\n".join(lines), json={"arms": found})


def announce(store: Store, trials: int, seed: int, options: Sequence[str]) -> Announcement:
    more = ("--space", space_of(store), "--trials", str(trials), "--seed", str(seed), *options)
    with tempfile.TemporaryDirectory(prefix="bv-bench-", dir=Path.cwd()) as folder:
        run = Run.open(Path(folder) / tune(store.path, more, Path(folder))["run"])
        standings = compare(run, store)
    models = {role: found for role in (BEST, PROBE, ENCODER) if (found := standings.of(role)) is not None}
    best = models[BEST]
    return Announcement(
        score=best.score,
        select=best.select_score or 0.0,
        interval=best.interval,
        order={f"{a} and {b}": _word(models[a], models[b]) for a, b in PAIRS if a in models and b in models},
    )


def _word(one: Standing, other: Standing) -> str:
    return difference(one.evaluation, other.evaluation).word


def _summary(announced: Sequence[Announcement]) -> dict[str, Any]:
    """How often what one announces holds for the next, the last one's next being the first."""
    held = [
        one.holds_for(fresh) for one, fresh in zip(announced, [*announced[1:], announced[0]], strict=True)
    ]
    scores = [each.score for each in announced]
    return {
        "held": {what: sum(each[what] for each in held) / len(held) for what in held[0]},
        "mean_score": sum(scores) / len(scores),
        "lowest_score": min(scores),
        "highest_score": max(scores),
        "select_above_report": sum(each.select - each.score for each in announced) / len(announced),
    }


def _lines(values: Mapping[str, Any]) -> list[str]:
    low, high = values["lowest_score"], values["highest_score"]
    return [
        f"    best head on report {values['mean_score']:.4f} ({low:.4f} to {high:.4f}), "
        f"on select {values['select_above_report']:+.4f}",
        *(f"    {what:40} {share:>5.0%} of the time" for what, share in values["held"].items()),
    ]
