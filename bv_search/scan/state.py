"""A head between segments: weights, optimiser and position, detached from any pack, in one byte string.

With folds it has several copies. All stand at one place; their tensors stand by one name each.
"""

import json
import struct
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Self

import xxhash
from safetensors.torch import load, save
from torch import Tensor, zeros_like

from bv_search.errors import HeadError
from bv_search.heads.config import HeadShape
from bv_search.heads.copies import Copies, join_tensors, part_tensors
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
    pending: tuple[int, ...]  # windows whose gradients wait for the next step, of each copy
    checks: Checks = field(default_factory=Checks)
    weights: Mapping[str, Tensor]  # and the running statistics of batch norm; inputs are the store's
    mean: Mapping[str, Tensor]  # Adam's first moment
    square: Mapping[str, Tensor]  # Adam's second moment
    average: Mapping[str, Tensor] = field(default_factory=dict)  # of the weights, where that is judged
    gradient: Mapping[str, Tensor]  # of the pending windows
    best_weights: Mapping[str, Tensor] = field(default_factory=dict)  # at the best check, if there was one

    @classmethod
    def fresh(
        cls,
        trial: str,
        config: TrialConfig,
        shape: HeadShape,
        constants_KC: Tensor | None = None,
        *,
        copies: int = 1,
    ) -> Self:
        """Before its first segment. `constants_KC` are the best constant answers, where biases start."""
        seeds = seeds_of(config.training.seed, copies)
        heads = [Head(config.head, shape).initialise(seed) for seed in seeds]
        if constants_KC is not None:
            for head, constant_C in zip(heads, constants_KC, strict=True):
                head.bias_C.data.copy_(constant_C)
        parameters = join_tensors([dict(head.named_parameters()) for head in heads])
        zeros = {name: zeros_like(parameter.data) for name, parameter in parameters.items()}
        return cls(
            trial=trial,
            config=config,
            shape=shape,
            position=0,
            steps=0,
            pending=(0,) * copies,
            weights=own_weights(heads),
            mean=zeros,
            square={name: tensor.clone() for name, tensor in zeros.items()},
            gradient={},
        )

    @property
    def copies(self) -> int:
        return len(self.pending)

    def heads(self, standard: Standard, *, at_best: bool = False) -> list[Head]:
        """All copies as they stand, or with the best weights that they had. `standard` is the store's."""
        weights = self.best_weights if at_best and self.best_weights else self.weights
        heads = []
        for own in part_tensors(weights, self.copies):
            head = Head(self.config.head, self.shape)
            head.load_state_dict(own)
            head.inputs = standard if self.config.reads_standard else None
            heads.append(head)
        return heads

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
            pending=tuple(about["pending"]),
            checks=Checks.from_json(about["checks"]),
            weights=parts["weights"],
            mean=parts["mean"],
            square=parts["square"],
            average=parts["average"],
            gradient=parts["gradient"],
            best_weights=parts["best_weights"],
        )


def own_weights(heads: Copies) -> dict[str, Tensor]:
    """Without the numbers of their inputs, which all heads on a store share."""
    return join_tensors(
        [{n: t for n, t in head.state_dict().items() if not n.startswith("inputs.")} for head in heads]
    )


def seeds_of(seed: int, copies: int) -> list[int]:
    """The first copy is the head as it would be alone; each other one draws numbers of its own."""
    drawn = (xxhash.xxh3_64_intdigest(struct.pack("<QQ", seed, copy)) >> 1 for copy in range(1, copies))
    return [seed, *drawn]


def _metadata(data: bytes) -> dict[str, str]:
    """A safetensors file begins with the length of its JSON header, eight bytes, little-endian."""
    size = int.from_bytes(data[:8], "little")
    try:
        metadata: dict[str, str] = json.loads(data[8 : 8 + size])["__metadata__"]
    except (ValueError, KeyError) as error:
        raise HeadError("is not the state of a head", found=f"{len(data)} bytes") from error
    return metadata
