"""The contract of a head's config."""

from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, Literal, get_args, get_origin, get_type_hints

from bv_search.errors import HeadError

MODULES, MOST_MODULES = ("blocks", "depth", "longest"), 1000  # of which so many are made, one by one
Pooling = Literal["learned", "average"]
Inputs = Literal["standard", "raw"]
STANDARD, RAW = get_args(Inputs)
Readout = Literal["first", "last", "mean", "max", "sum"]
IN_NAMES: dict[Readout, str] = {
    "last": ", last token",
    "mean": ", mean of tokens",
    "max": ", maximum of tokens",
}


@dataclass(frozen=True, kw_only=True)
class HeadConfig:
    """A head's architecture; subclasses are its kinds."""

    kind: ClassVar[str]
    for_windows: ClassVar[bool] = False  # it answers for a whole window, never for each token
    narrowest: ClassVar[int] = 1  # the least width of the hidden states that it can work on

    # which token of a window answers for it, where a store holds them all; or what all of them say
    readout: Literal["first", "last", "mean", "max"] = "first"

    def __post_init__(self) -> None:
        hints = get_type_hints(type(self))
        for setting in fields(self):
            _check(self, setting.name, hints[setting.name])

    @property
    def name(self) -> str:
        """Short and telling: it stands in tables."""
        return self.architecture + IN_NAMES.get(self.readout, "")

    @property
    def architecture(self) -> str:
        raise NotImplementedError

    @property
    def mixes_tokens(self) -> bool:
        """Whether what it says of a token depends on the tokens around it."""
        return False

    @property
    def learns_mix(self) -> bool:
        """Whether it may learn how much to listen to each layer."""
        return getattr(self, "pooling", None) == "learned"

    @property
    def reads_all_tokens(self) -> bool:
        return self.mixes_tokens or self.readout != "first"

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, **asdict(self)}


def _check(config: HeadConfig, name: str, hint: Any) -> None:
    value = getattr(config, name)
    choices = get_args(hint) if get_origin(hint) is Literal else ()
    if choices and value not in choices:
        raise HeadError(f"bad {name}", where=f"{config.kind} head", expected=choices, found=repr(value))
    if hint in (int, bool) and type(value) is not hint:
        raise HeadError(f"bad {name}", where=f"{config.kind} head", expected=hint.__name__, found=repr(value))
    if hint is int and value < 1:
        raise HeadError(f"bad {name}", where=f"{config.kind} head", expected="1 or more", found=value)
    if name in MODULES and value > MOST_MODULES:
        expected = f"at most {MOST_MODULES:,}"
        raise HeadError(f"bad {name}", where=f"{config.kind} head", expected=expected, found=value)
