"""What an ensemble came to, for ensemble.json, for a program and for a reader."""

from dataclasses import dataclass, field
from typing import Any

from bv_search.ensemble.choice import Choice
from bv_search.model.combine import Method
from bv_search.run.folder import Run
from bv_search.tasks.evaluation import Delta, Evaluation

FORMAT_VERSION = 1
SHOWN = 20  # of the combinations considered, in ensemble.json


@dataclass(frozen=True, kw_only=True)
class Standing:
    """Something that the ensemble is compared with, on report."""

    name: str
    evaluation: Evaluation
    interval: tuple[float, float]
    delta: Delta  # ensemble minus this

    def to_json(self) -> dict[str, Any]:
        delta, low, high = self.delta
        return {
            "name": self.name,
            "score": self.evaluation.score,
            "interval": list(self.interval),
            "metrics": self.evaluation.metrics,
            "delta": delta,
            "delta_interval": [low, high],
        }

    def verdict(self) -> str:
        """In words that the interval allows."""
        delta, low, high = self.delta
        return f"{self.delta.word} than {self.name} ({delta:+.4f}, 95 % interval {low:+.4f} to {high:+.4f})"


@dataclass(frozen=True, kw_only=True)
class EnsembleResult:
    run: Run
    heads: int  # finished ones of the run
    choice: Choice
    members: tuple[dict[str, Any], ...]
    evaluation: Evaluation
    interval: tuple[float, float]
    best_single: Standing
    baseline: Standing | None
    considered: tuple[Choice, ...] = field(repr=False)
    model: str | None = None  # its address in MLflow's registry

    def to_json(self) -> dict[str, Any]:
        return {
            "run": str(self.run.path),
            "format_version": FORMAT_VERSION,
            "heads": self.heads,
            "method": str(self.choice.method),
            "members": list(self.members),
            "select_score": self.choice.score,
            "score": self.evaluation.score,
            "interval": list(self.interval),
            "metrics": self.evaluation.metrics,
            "best_single": self.best_single.evaluation.score,
            "baseline": None if self.baseline is None else self.baseline.evaluation.score,
            "compared": {
                "best_single": self.best_single.to_json(),
                "baseline": None if self.baseline is None else self.baseline.to_json(),
            },
            "considered": [
                {"method": str(each.method), "members": len(each.members), "select_score": each.score}
                for each in self.considered[:SHOWN]
            ],
            "model": self.model,
        }

    def text(self) -> str:
        low, high = self.interval
        names = ", ".join(f"{member['name']}{_times(member['weight'])}" for member in self.members)
        lines = [
            f"{self.run.path}: {self.choice.method} of {names}",
            f"  select {self.choice.score:.4f}, report {self.evaluation.score:.4f} [{low:.4f}, {high:.4f}]",
        ]
        if self.choice.method is Method.SINGLE:
            lines.append(f"  no combination did better on select than {names} alone")
        else:
            lines.append(f"  {self.best_single.verdict()}")
        if self.baseline is not None:
            lines.append(f"  {self.baseline.verdict()}")
        if self.model is not None:
            lines.append(f"  registered in MLflow as {self.model}")
        return "\n".join(lines)


def _times(weight: float) -> str:
    return "" if weight == 1.0 else f" ×{weight:g}"
