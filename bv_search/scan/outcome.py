"""What goes into a scanner and what comes out of it. Free of torch, for those who only pass it on."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bv_search.heads.config import HeadShape
from bv_search.scan.checks import Check
from bv_search.scan.trial import TrialConfig


@dataclass(frozen=True, kw_only=True)
class Start:
    """A head before its first segment: the scanner draws its weights."""

    trial: str
    config: TrialConfig


@dataclass(frozen=True, kw_only=True)
class SegmentResult:
    """What a segment made of one head."""

    trial: str
    position: int
    rows: int
    state: bytes | None = None  # None: it failed
    failure: str | None = None
    has_learned: bool = False  # nothing more is gained by going on
    checks: tuple[Check, ...] = ()  # that it passed on the way
    found: Check | None = None  # its worth on select, where it was asked for: the best that it ever had


@dataclass(frozen=True, kw_only=True)
class HeadLogits:
    """What a head says of some windows."""

    ids: list[str]
    logits: Sequence[np.ndarray] | np.ndarray


@dataclass(frozen=True, kw_only=True)
class RoleAnswers(HeadLogits):
    """What a head says on one role, and how right that is.

    With folds, score and loss on select are of all rows that the head is judged by.
    """

    loss: float  # mean over windows
    score: float
    interval: tuple[float, float] | None  # on report alone: it takes a while
    metrics: dict[str, float]
    draws: Sequence[float] = ()  # on select alone: the score on other rows like these, the same for all heads


@dataclass(frozen=True, kw_only=True)
class Finalist:
    """A head of a search that is to learn once more, from all rows."""

    trial: str
    config: TrialConfig
    position: int  # micro-batches of the search after which it had its best weights
    copies: int  # each from first weights of its own


@dataclass(frozen=True, kw_only=True)
class Finished:
    """A head at the end of its way."""

    trial: str
    shape: HeadShape
    weights: bytes  # safetensors
    copies: int  # that it has
    parameters: int  # of all of them
    report: RoleAnswers


@dataclass(frozen=True, kw_only=True)
class Final(Finished):
    """One that did not learn from what it says on select."""

    select: RoleAnswers
    train: HeadLogits | None  # with folds: out of fold, of all rows that judge it beside those of select


@dataclass(frozen=True, kw_only=True)
class FinalistResult:
    """What a finalist has become: the mean of its copies, and the first of them alone."""

    trial: str
    rows: int  # that it saw
    bagged: Finished
    single: Finished


@dataclass(frozen=True, kw_only=True)
class Diverged:
    """A head whose loss or answers left the finite numbers."""

    trial: str
    position: int
    what: str = "loss"

    def __str__(self) -> str:
        return f"diverged: {self.what} not finite at micro-batch {self.position}"
