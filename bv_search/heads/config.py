"""What a head is, before it has weights. Free of torch: searchers and dry runs read it too."""

from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, Literal, get_args, get_type_hints

from bv_search.errors import HeadError, UnknownName

Pooling = Literal["learned", "average"]
Readout = Literal["first", "mean"]


@dataclass(frozen=True, kw_only=True)
class HeadShape:
    """What a store and a task fix for every head on them."""

    layers: int  # channels of the hidden states
    width: int  # of one hidden state
    outputs: int  # numbers a window (or a token, for spans) is mapped to
    per_token: bool  # a span head answers for each token, others for each window

    def __str__(self) -> str:
        return f"{self.layers}x{self.width}"


@dataclass(frozen=True, kw_only=True)
class HeadConfig:
    """A head's architecture; subclasses are its kinds."""

    kind: ClassVar[str]

    readout: Readout = "first"  # which token of a window answers for it, where a store holds them all

    def __post_init__(self) -> None:
        for name, hint in get_type_hints(type(self)).items():
            if name != "kind":
                _check(self, name, hint)

    @property
    def name(self) -> str:
        """Short and telling: it stands in tables."""
        raise NotImplementedError

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, **asdict(self)}


@dataclass(frozen=True, kw_only=True)
class PoolingHead(HeadConfig):
    """One mix of the layers, then a dense layer (Tenney et al.; Ma et al. for the plain mean)."""

    kind: ClassVar[str] = "pooling"

    pooling: Pooling = "learned"

    @property
    def name(self) -> str:
        return "learned pooling" if self.pooling == "learned" else "average pooling"


@dataclass(frozen=True, kw_only=True)
class AdapterHead(HeadConfig):
    """A bottleneck with gelu on every layer, its outputs flattened into a dense layer."""

    kind: ClassVar[str] = "adapter"

    size: int = 64  # outputs of the bottleneck
    shared: bool = True  # one bottleneck for all layers, or one each
    skip: bool = False  # the last channel joins before the dense layer

    @property
    def name(self) -> str:
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
    def name(self) -> str:
        return f"{self.pooling} pooling, adapter {self.size}{' skip' if self.skip else ''}"


@dataclass(frozen=True, kw_only=True)
class TwoAdaptersHead(HeadConfig):
    """A shared adapter on every layer beside one on a learned pooling ("Tenney pooling")."""

    kind: ClassVar[str] = "two-adapters"

    size: int = 64  # outputs of each bottleneck

    @property
    def name(self) -> str:
        return f"adapter {self.size} + learned pooling adapter {self.size}"


CONFIGS: dict[str, type[HeadConfig]] = {
    config.kind: config for config in (PoolingHead, AdapterHead, PooledAdapterHead, TwoAdaptersHead)
}


def head_from_json(value: dict[str, Any]) -> HeadConfig:
    kind = value.get("kind")
    if kind not in CONFIGS:
        raise UnknownName("head", kind, CONFIGS)
    config = CONFIGS[kind]
    known = {field.name for field in fields(config)}
    unknown = sorted(value.keys() - known - {"kind"})
    if unknown:
        raise HeadError(f"no setting {unknown[0]!r}", where=f"{kind} head", expected=", ".join(sorted(known)))
    return config(**{name: setting for name, setting in value.items() if name != "kind"})


def _check(config: HeadConfig, name: str, hint: Any) -> None:
    value = getattr(config, name)
    choices = get_args(hint)
    if choices and value not in choices:
        raise HeadError(f"bad {name}", where=f"{config.kind} head", expected=choices, found=repr(value))
    if hint in (int, bool) and type(value) is not hint:
        raise HeadError(f"bad {name}", where=f"{config.kind} head", expected=hint.__name__, found=repr(value))
    if hint is int and value < 1:
        raise HeadError(f"bad {name}", where=f"{config.kind} head", expected="1 or more", found=value)
