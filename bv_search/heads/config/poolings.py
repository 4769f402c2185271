"""Poolings: the heads that are dense layers on a mix of the layers."""

from dataclasses import dataclass
from typing import ClassVar

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
