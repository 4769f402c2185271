"""The plainest heads: what others are compared with."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from bv_search.errors import HeadError
from bv_search.heads.config.head import HeadConfig


@dataclass(frozen=True, kw_only=True)
class ConstantHead(HeadConfig):
    """A bias alone: it says what is most frequent, or the mean. What it scores, a head must beat."""

    kind: ClassVar[str] = "constant"

    readout: Literal["first"] = "first"  # it reads no token

    @property
    def architecture(self) -> str:
        return "constant"


@dataclass(frozen=True, kw_only=True)
class LinearHead(HeadConfig):
    """One dense layer on a channel, or on all channels side by side."""

    kind: ClassVar[str] = "linear"

    channels: Literal["all"] | int = "all"  # or the number of one, from 0 on

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.channels != "all" and (type(self.channels) is not int or self.channels < 0):
            raise HeadError(
                "bad channels",
                where=f"{self.kind} head",
                expected="all, or a channel's number from 0 on",
                found=repr(self.channels),
            )

    @property
    def architecture(self) -> str:
        return "linear on all channels" if self.channels == "all" else f"linear on channel {self.channels}"


@dataclass(frozen=True, kw_only=True)
class MlpHead(HeadConfig):
    """All channels side by side into one hidden layer with gelu, then a dense layer."""

    kind: ClassVar[str] = "mlp"

    size: int = 64  # of the hidden layer

    @property
    def architecture(self) -> str:
        return f"mlp {self.size}"
