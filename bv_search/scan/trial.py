"""A trial's configuration: a head and how it is trained, as a search space writes it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bv_search.errors import SpaceError
from bv_search.heads.config import HeadConfig, head_from_json
from bv_search.scan.training import SETTINGS, TrainingConfig


@dataclass(frozen=True, kw_only=True)
class TrialConfig:
    head: HeadConfig
    training: TrainingConfig

    def to_json(self) -> dict[str, Any]:
        return {"head": self.head.to_json(), **self.training.to_json()}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "TrialConfig":
        head = value.get("head")
        if not isinstance(head, dict):
            raise SpaceError("a trial without a head", expected="head: {kind: …}", found=repr(head))
        unknown = sorted(value.keys() - SETTINGS - {"head"})
        if unknown:
            raise SpaceError(f"no setting {unknown[0]!r}", expected=", ".join(sorted(SETTINGS | {"head"})))
        training = TrainingConfig.from_json({name: value[name] for name in SETTINGS & value.keys()})
        return cls(head=head_from_json(head), training=training)
