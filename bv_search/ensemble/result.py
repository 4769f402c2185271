"""What an ensemble came to, for ensemble.json, for a program and for a reader."""

from dataclasses import dataclass, field
from html import escape
from typing import Any

from bv_search.ensemble.selection import Selection
from bv_search.model.combine import Method, alone_words
from bv_search.model.standings import Lead, gain_words
from bv_search.run.choosers import Choosers
from bv_search.run.ensemble_file import ENSEMBLE_VERSION
from bv_search.run.folder import Run
from bv_search.tasks.evaluation import Delta, Evaluation

SHOWN = 20  # of the combinations considered, in ensemble.json


@dataclass(frozen=True, kw_only=True)
class MemberScore:
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
        return f"{self.delta.beside(self.name)}: {self.delta}"


@dataclass(frozen=True, kw_only=True)
class EnsembleResult:
    run: Run
    heads: int  # finished ones of the run
    chosen_on: Choosers
    selection: Selection
    members: tuple[dict[str, Any], ...]
    evaluation: Evaluation
    interval: tuple[float, float]
    best_single: MemberScore
    baseline: MemberScore | None
    gain: Lead | None  # over the best of the ladder
    considered: tuple[Selection, ...] = field(repr=False)
    model: str | None = None  # its address in MLflow's registry

    def to_json(self) -> dict[str, Any]:
        return {
            "run": str(self.run.path),
            "format_version": ENSEMBLE_VERSION,
            "heads": self.heads,
            "method": str(self.selection.method),
            "members": list(self.members),
            "chosen_on": self.chosen_on.to_json(),
            "select_score": self.selection.score,  # on these rows
            "score": self.evaluation.score,
            "interval": list(self.interval),
            "metrics": self.evaluation.metrics,
            "best_single": self.best_single.evaluation.score,
            "baseline": None if self.baseline is None else self.baseline.evaluation.score,
            "compared": {
                "best_single": self.best_single.to_json(),
                "baseline": None if self.baseline is None else self.baseline.to_json(),
                "ladder": None if self.gain is None else _ladder_json(self.gain),
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
            f"{self.run.path}: {self.selection.method} of {names}",
            f"  chosen on {self.chosen_on}: {self.selection.score:.4f} there, "
            f"{self.evaluation.score:.4f} [{low:.4f}, {high:.4f}] on report",
        ]
        beside = [self.best_single, self.baseline]
        if self.selection.method is Method.SINGLE:
            lines.append(f"  {alone_words(names, (each.method for each in self.considered))} on these rows")
            beside = [self.baseline]
        lines += dict.fromkeys(f"  {each.verdict()}" for each in beside if each is not None)
        if self.gain is not None:
            lines.append(f"  {self._worth(self.gain)}")
        if self.model is not None:
            lines.append(f"  registered in MLflow as {self.model}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self.text())}</pre>"

    def _worth(self, gain: Lead) -> str:
        """Whether there was anything to be gained by a search."""
        if self.selection.method is not Method.SINGLE:
            return f"the ensemble is {gain_words(gain)}"
        (member,) = self.members
        if (member["run"], member["trial"]) == (".", gain.over.trial):
            return f"{member['name']} is the best of the ladder: nothing that was searched did better there"
        return f"{member['name']} is {gain_words(gain)}"


def _ladder_json(gain: Lead) -> dict[str, Any]:
    """The best rung, as the others that the ensemble is compared with."""
    rung = gain.over
    against = MemberScore(
        name=rung.title, evaluation=rung.evaluation, interval=rung.interval, delta=gain.delta
    )
    return {"rung": rung.role, "trial": rung.trial, **against.to_json(), "verdict": gain.delta.word}


def _times(weight: float) -> str:
    return "" if weight == 1.0 else f" ×{weight:g}"
