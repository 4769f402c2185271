"""A head between segments: weights, optimiser and position, detached from any pack, in one byte string."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Self

from safetensors.torch import load, save
from torch import Tensor, zeros_like

from bv_search.errors import HeadError
from bv_search.heads.config import HeadShape
from bv_search.heads.head import Head
from bv_search.heads.inputs import Standard
from bv_search.scan.checks import Checks
from bv_search.scan.trial import TrialConfig

PARTS = ("weights", "mean", "square", "average", "gradient", "best_weights")


@dataclass(frozen=True, kw_only=True)
class HeadState:
    trial: str
    config: TrialConfig
    shape: HeadShape
    position: int  # micro-batches seen
    steps: int  # of the optimiser
    pending: int  # windows whose gradients wait for the next step
    checks: Checks = field(default_factory=Checks)
    weights: Mapping[str, Tensor]  # and the running statistics of batch norm; inputs are the store's
    mean: Mapping[str, Tensor]  # Adam's first moment
    square: Mapping[str, Tensor]  # Adam's second moment
    average: Mapping[str, Tensor] = field(default_factory=dict)  # of the weights, where that is judged
    gradient: Mapping[str, Tensor]  # of the pending windows
    best_weights: Mapping[str, Tensor] = field(default_factory=dict)  # at the best check, if there was one

    @classmethod
    def fresh(
        cls, trial: str, config: TrialConfig, shape: HeadShape, constant_C: Tensor | None = None
    ) -> Self:
        """Before its first segment. `constant_C` is the best constant answer, for its bias to start from."""
        head = Head(config.head, shape).initialise(config.training.seed)
        if constant_C is not None:
            head.bias_C.data.copy_(constant_C)
        zeros = {name: zeros_like(parameter.data) for name, parameter in head.named_parameters()}
        return cls(
            trial=trial,
            config=config,
            shape=shape,
            position=0,
            steps=0,
            pending=0,
            weights=dict(head.state_dict()),
            mean=zeros,
            square={name: tensor.clone() for name, tensor in zeros.items()},
            gradient={},
        )

    def head(self, standard: Standard, *, at_best: bool = False) -> Head:
        """As it stands, or with the best weights that it had. `standard` is the store's."""
        head = Head(self.config.head, self.shape)
        head.load_state_dict(dict(self.best_weights if at_best and self.best_weights else self.weights))
        head.inputs = standard if self.config.reads_standard else None
        return head

    def to_bytes(self) -> bytes:
        tensors = {f"{part}/{name}": t for part in PARTS for name, t in getattr(self, part).items()}
        about = {
            "trial": self.trial,
            "config": self.config.to_json(),
            "shape": asdict(self.shape),
            "position": self.position,
            "steps": self.steps,
            "pending": self.pending,
            "checks": self.checks.to_json(),
        }
        data: bytes = save(tensors, metadata={"state": json.dumps(about)})
        return data

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        about = json.loads(_metadata(data)["state"])
        parts: dict[str, dict[str, Tensor]] = {part: {} for part in PARTS}
        for key, tensor in load(data).items():
            part, _, name = key.partition("/")
            parts[part][name] = tensor
        return cls(
            trial=about["trial"],
            config=TrialConfig.from_json(about["config"]),
            shape=HeadShape(**about["shape"]),
            position=about["position"],
            steps=about["steps"],
            pending=about["pending"],
            checks=Checks.from_json(about["checks"]),
            weights=parts["weights"],
            mean=parts["mean"],
            square=parts["square"],
            average=parts["average"],
            gradient=parts["gradient"],
            best_weights=parts["best_weights"],
        )


def own_weights(head: Head) -> dict[str, Tensor]:
    """Without the numbers of its inputs, which all heads on a store share."""
    return {name: tensor for name, tensor in head.state_dict().items() if not name.startswith("inputs.")}


def _metadata(data: bytes) -> dict[str, str]:
    """A safetensors file begins with the length of its JSON header, eight bytes, little-endian."""
    size = int.from_bytes(data[:8], "little")
    try:
        metadata: dict[str, str] = json.loads(data[8 : 8 + size])["__metadata__"]
    except (ValueError, KeyError) as error:
        raise HeadError("is not the state of a head", found=f"{len(data)} bytes") from error
    return metadata
