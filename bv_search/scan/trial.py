"""A trial's configuration: a head, what it reads, and how it is trained, as a search space writes it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args

from bv_search.errors import SpaceError
from bv_search.heads.config import STANDARD, HeadConfig, Inputs, head_from_json
from bv_search.scan.training import SETTINGS, TrainingConfig


@dataclass(frozen=True, kw_only=True)
class TrialConfig:
    head: HeadConfig
    inputs: Inputs = STANDARD  # hidden states standardised by channel and feature, or as they are
    training: TrainingConfig

    def __post_init__(self) -> None:
        if self.inputs not in get_args(Inputs):
            raise SpaceError("bad inputs", expected=" or ".join(get_args(Inputs)), found=repr(self.inputs))

    @property
    def reads_standard(self) -> bool:
        return bool(self.inputs == STANDARD)

    def to_json(self) -> dict[str, Any]:
        return {"head": self.head.to_json(), "inputs": self.inputs, **self.training.to_json()}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "TrialConfig":
        head = value.get("head")
        if not isinstance(head, dict):
            raise SpaceError("a trial without a head", expected="head: {kind: …}", found=repr(head))
        known = SETTINGS | {"head", "inputs"}
        unknown = sorted(value.keys() - known)
        if unknown:
            raise SpaceError(f"no setting {unknown[0]!r}", expected=", ".join(sorted(known)))
        training = TrainingConfig.from_json({name: value[name] for name in SETTINGS & value.keys()})
        return cls(head=head_from_json(head), inputs=value.get("inputs", STANDARD), training=training)
