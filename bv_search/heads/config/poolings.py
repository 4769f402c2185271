"""Poolings: the heads that are dense layers on a mix of the layers."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from bv_search.heads.config.head import HeadConfig, Pooling


@dataclass(frozen=True, kw_only=True)
class PoolingHead(HeadConfig):
    """One mix of the layers, then a dense layer (Tenney et al.; Ma et al. for the plain mean)."""

    kind: ClassVar[str] = "pooling"

    pooling: Pooling = "learned"

    @property
    def architecture(self) -> str:
        return f"{self.pooling} pooling"


@dataclass(frozen=True, kw_only=True)
class GatedPoolingHead(HeadConfig):
    """A learned mix in which each token opens or closes a gate before every layer."""

    kind: ClassVar[str] = "gated-pooling"

    @property
    def architecture(self) -> str:
        return "gated pooling"

    @property
    def learns_mix(self) -> bool:
        return True


@dataclass(frozen=True, kw_only=True)
class AttentionHead(HeadConfig):
    """Learned queries look for their tokens of a window; what each finds on a mix of the layers joins."""

    kind: ClassVar[str] = "attention"
    for_windows: ClassVar[bool] = True

    # of what each token adds to the answer: its part in what the queries find
    readout: Literal["sum"] = "sum"  # type: ignore[assignment]
    pooling: Pooling = "learned"
    queries: int = 1  # each with a dense layer of its own
    position_bias: bool = False  # a query may prefer some of the first positions

    @property
    def architecture(self) -> str:
        queries = "1 query" if self.queries == 1 else f"{self.queries} queries"
        return f"{self.pooling} pooling, attention of {queries}{' by position' if self.position_bias else ''}"
