"""Do products of 16 bits cost a head its score? The same heads learn at either precision, to their ends."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import mean, stdev
from typing import Any

from bv_search.bench.config import BenchConfig
from bv_search.bench.filling import train
from bv_search.command import Progress, Result
from bv_search.errors import UserError
from bv_search.precision import BFLOAT16, FLOAT32
from bv_search.scan.scanner import Scanner
from bv_search.scan.store_view import learned_split
from bv_search.scan.trial import TrialConfig
from bv_search.space.space import Config, find_space
from bv_search.store.store import Store
from bv_search.tune.packing import Rungs, plan_rungs
from bv_search.tune.searchers import SEARCHERS

PACK = 10
DEFAULT_SPACE = "classification"


@dataclass(frozen=True, kw_only=True)
class Change:
    """What 16 bits change in a score: the mean over heads, and how sure it is."""

    heads: int
    mean: float
    half: float  # of the 95 % interval

    @classmethod
    def of(cls, differences: Sequence[float]) -> "Change":
        half = 1.96 * stdev(differences) / len(differences) ** 0.5
        return cls(heads=len(differences), mean=mean(differences), half=half)

    def __str__(self) -> str:
        return f"{self.mean:+.4f} ± {self.half:.4f}, mean of {self.heads} heads"

    def to_json(self) -> dict[str, Any]:
        return {
            "heads": self.heads,
            "mean": self.mean,
            "low": self.mean - self.half,
            "high": self.mean + self.half,
        }


def run(asked: BenchConfig, progress: Progress) -> Result:
    if asked.heads * asked.rounds < 2:
        raise UserError("one head says nothing", where="--heads", expected="2 or more")
    store = Store.open(asked.required_store)
    configs = _draw(store, asked.space or DEFAULT_SPACE, asked.heads)
    rungs = plan_rungs(
        [TrialConfig.from_json(config) for config in configs],
        learned_split(store, folds=1).windows,
        halving=False,
        one_token=store.manifest.one_token,
    )
    scanners = {
        each: Scanner(store.path, precision=each, threads=asked.threads) for each in (FLOAT32, BFLOAT16)
    }
    pairs: list[tuple[tuple[float, float], ...]] = []
    for seed in range(asked.rounds):
        seeded = [{**config, "seed": seed} for config in configs]
        for start in range(0, len(seeded), PACK):
            progress.update(f"seed {seed}: {start} of {len(seeded)} heads")
            pack = seeded[start : start + PACK]
            scores = [list(_scores(scanner, rungs, pack)) for scanner in scanners.values()]
            pairs += zip(*scores, strict=True)
    found = {
        role: Change.of([narrow[n] - wide[n] for wide, narrow in pairs])
        for n, role in enumerate(("select", "report"))
    }
    lines = [f"{store.task.name}: products of {BFLOAT16}, against {FLOAT32}, change a head's score"]
    lines += [f"  on {role}: {change}" for role, change in found.items()]
    return Result(text="\n".join(lines), json={role: change.to_json() for role, change in found.items()})


def _draw(store: Store, space: str, heads: int) -> list[Config]:
    searcher = SEARCHERS["random"](find_space(space, one_token=store.manifest.one_token), 0)
    return [searcher.space.config(searcher.ask(str(number)) or {}) for number in range(heads)]


def _scores(scanner: Scanner, rungs: Rungs, configs: Sequence[Config]) -> Iterator[tuple[float, float]]:
    """On select and on report. A head that diverged has none of either."""
    for learned in train(scanner, rungs, configs):
        nothing = learned.report is None
        yield (0.0, 0.0) if nothing else (max(check.score for check in learned.found), learned.report or 0.0)
