"""Adapters: the heads that are dense layers on narrowed hidden states."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from bv_search.heads.config.head import HeadConfig, Pooling


@dataclass(frozen=True, kw_only=True)
class AdapterHead(HeadConfig):
    """A bottleneck with gelu on every layer, its outputs flattened into a dense layer."""

    kind: ClassVar[str] = "adapter"

    size: int = 64  # outputs of the bottleneck
    shared: bool = True  # one bottleneck for all layers, or one each
    skip: bool = False  # the last channel joins before the dense layer

    @property
    def architecture(self) -> str:
        shared = "shared" if self.shared else "not shared"
        return f"adapter {self.size} {shared}{' skip' if self.skip else ''}"


@dataclass(frozen=True, kw_only=True)
class PooledAdapterHead(HeadConfig):
    """The bottleneck on one mix of the layers."""

    kind: ClassVar[str] = "pooled-adapter"

    pooling: Pooling = "learned"
    size: int = 64  # outputs of the bottleneck
    skip: bool = False  # the last channel joins before the dense layer

    @property
    def architecture(self) -> str:
        return f"{self.pooling} pooling, adapter {self.size}{' skip' if self.skip else ''}"


@dataclass(frozen=True, kw_only=True)
class TwoAdaptersHead(HeadConfig):
    """A shared adapter on every layer beside one on a learned pooling ("Tenney pooling")."""

    kind: ClassVar[str] = "two-adapters"

    size: int = 64  # outputs of each bottleneck

    @property
    def architecture(self) -> str:
        return f"adapter {self.size} + learned pooling adapter {self.size}"

    @property
    def learns_mix(self) -> bool:
        return True


@dataclass(frozen=True, kw_only=True)
class FlatAdapterHead(HeadConfig):
    """A shared adapter on every layer of every token, flattened with the tokens ("AP_GLUE").

    Its dense layer has weights of its own for each position, which ties it to a longest window.
    """

    kind: ClassVar[str] = "flat-adapter"
    for_windows: ClassVar[bool] = True

    # of what each position adds to the answer: the dense layer on all of them
    readout: Literal["sum"] = "sum"  # type: ignore[assignment]
    size: int = 64  # outputs of the bottleneck
    # positions that the dense layer has weights for, None: those of the longest window; padding adds nothing
    tokens: int | None = None

    @property
    def architecture(self) -> str:
        tokens = "" if self.tokens is None else f"{self.tokens} "
        return f"adapter {self.size} shared, {tokens}tokens flattened"
