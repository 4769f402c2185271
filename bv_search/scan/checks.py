"""Checks: how a head does on select along its way, and when it has learned. Free of torch."""

from dataclasses import asdict, dataclass, replace
from typing import Any, Self


@dataclass(frozen=True, kw_only=True)
class Check:
    """What a head is worth on select where it stands."""

    position: int  # micro-batches seen
    rows: int  # windows seen
    score: float
    loss: float  # mean over windows

    @property
    def rank(self) -> tuple[float, float]:
        """Larger is better. A score of few rows has many ties, and the loss tells them apart."""
        return self.score, -self.loss


@dataclass(frozen=True, kw_only=True)
class Checks:
    """All checks of a head so far, as far as its further way depends on them."""

    best: Check | None = None  # whose weights are kept
    lowest: float | None = None  # loss of any check
    idle: int = 0  # checks since the last gain

    def beaten_by(self, check: Check) -> bool:
        return self.best is None or check.rank > self.best.rank

    def after(self, check: Check) -> Self:
        """A better score is a gain, and so is a lower loss than ever before."""
        better, lower = self.beaten_by(check), self.lowest is None or check.loss < self.lowest
        return replace(
            self,
            best=check if better else self.best,
            lowest=check.loss if lower else self.lowest,
            idle=0 if better or lower else self.idle + 1,
        )

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Self:
        best = value["best"]
        return cls(best=None if best is None else Check(**best), lowest=value["lowest"], idle=value["idle"])
