"""A head between segments: weights, optimiser and position, detached from any pack, in one byte string."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Self

from safetensors.torch import load, save
from torch import Tensor, zeros_like

from bv_search.errors import HeadError
from bv_search.heads.config import HeadShape
from bv_search.heads.head import Head
from bv_search.scan.trial import TrialConfig


@dataclass(frozen=True, kw_only=True)
class HeadState:
    trial: str
    config: TrialConfig
    shape: HeadShape
    position: int  # micro-batches seen
    steps: int  # of the optimiser
    pending: int  # windows whose gradients wait for the next step
    weights: Mapping[str, Tensor]  # and the running statistics of batch norm
    mean: Mapping[str, Tensor]  # Adam's first moment
    square: Mapping[str, Tensor]  # Adam's second moment
    gradient: Mapping[str, Tensor]  # of the pending windows

    @classmethod
    def fresh(cls, trial: str, config: TrialConfig, shape: HeadShape) -> Self:
        head = Head(config.head, shape).initialise(config.training.seed)
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

    def head(self) -> Head:
        head = Head(self.config.head, self.shape)
        head.load_state_dict(dict(self.weights))
        return head

    def to_bytes(self) -> bytes:
        parts = {"weights": self.weights, "mean": self.mean, "square": self.square, "gradient": self.gradient}
        tensors = {f"{part}/{name}": t for part, named in parts.items() for name, t in named.items()}
        about = {
            "trial": self.trial,
            "config": self.config.to_json(),
            "shape": asdict(self.shape),
            "position": self.position,
            "steps": self.steps,
            "pending": self.pending,
        }
        data: bytes = save(tensors, metadata={"state": json.dumps(about)})
        return data

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        about = json.loads(_metadata(data)["state"])
        parts: dict[str, dict[str, Tensor]] = {"weights": {}, "mean": {}, "square": {}, "gradient": {}}
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
            weights=parts["weights"],
            mean=parts["mean"],
            square=parts["square"],
            gradient=parts["gradient"],
        )


def _metadata(data: bytes) -> dict[str, str]:
    """A safetensors file begins with the length of its JSON header, eight bytes, little-endian."""
    size = int.from_bytes(data[:8], "little")
    try:
        metadata: dict[str, str] = json.loads(data[8 : 8 + size])["__metadata__"]
    except (ValueError, KeyError) as error:
        raise HeadError("is not the state of a head", found=f"{len(data)} bytes") from error
    return metadata
