"""A head: what it reads, branches that share one bias; saved as `config.json` and `model.safetensors`."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

import torch
from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from torch import Generator, Tensor, nn

from bv_search.document import check_plain
from bv_search.errors import HeadError
from bv_search.files import decode_at
from bv_search.heads.branches import Branch, Solo
from bv_search.heads.branches.dropout import Dropout
from bv_search.heads.branches.norm import BatchNorm
from bv_search.heads.config import RAW, STANDARD, HeadConfig, HeadShape, check_fit, head_from_json
from bv_search.heads.config import Inputs as InputsName
from bv_search.heads.folder import CONFIG_FILE, WEIGHTS_FILE, read_config, read_weights_file, write_head
from bv_search.heads.inputs import Inputs, Standard
from bv_search.heads.recipe import branches

NO_CONFIG = "is not a head's config"


class Head(nn.Module):
    """Weights and their architecture; a `Pack` runs them, one head or many."""

    def __init__(self, config: HeadConfig, shape: HeadShape, inputs: Inputs = None) -> None:
        check_fit(config, shape)
        super().__init__()
        self.config = config
        self.shape = shape
        self.inputs = inputs
        self.branches = nn.ModuleList(branches(config, shape))
        self.bias_C = nn.Parameter(torch.zeros(shape.outputs))

    def initialise(self, seed: int) -> Self:
        generator = Generator().manual_seed(seed)
        for branch in self.typed_branches():
            branch.initialise(generator)
        nn.init.zeros_(self.bias_C)
        return self

    def typed_branches(self) -> list[Branch]:
        return [branch for branch in self.branches if isinstance(branch, Branch)]

    @property
    def normed(self) -> bool:
        """Whether it has batch norm, and so statistics to gather."""
        return any(isinstance(module, BatchNorm) for module in self.modules())

    @property
    def takes_turns(self) -> bool:
        """Whether it shares no operation with other heads."""
        return any(isinstance(branch, Solo) for branch in self.branches)

    @property
    def reads_all_tokens(self) -> bool:
        """Or only the first of a window."""
        return self.shape.per_token or self.config.reads_all_tokens

    def use_dropout(self, rate: float, seed: int) -> None:
        """While training, the dense layer misses this share of its features."""
        for number, branch in enumerate(self.typed_branches()):
            branch.dropout = Dropout(rate=rate, seed=seed, branch=number) if rate else None

    def answer(self, outputs: Tensor) -> Tensor:
        """In the unit of the labels."""
        return outputs if self.inputs is None else self.inputs.answers(outputs)

    def say(self, answers_C: Tensor) -> None:
        """Have its bias alone answer so."""
        self.bias_C.data.copy_(answers_C if self.inputs is None else self.inputs.outputs(answers_C))

    @property
    def unit(self) -> float:
        """How large a step of its outputs is in the labels."""
        return 1.0 if self.inputs is None else self.inputs.unit

    def parameter_count(self) -> int:
        return sum(parameter.numel() for parameter in self.parameters())

    def stored_count(self) -> int:
        """With numbers that are not trained, of batch norm and of standard inputs."""
        return self.parameter_count() + sum(buffer.numel() for buffer in self.buffers())

    def save_pretrained(self, folder: str | Path, **more: Any) -> None:
        """`more` goes into config.json beside the head: what a loader of answers needs to know."""
        write_head(Path(folder), {**self.to_json(), **more}, save_tensors(dict(self.state_dict())))

    @classmethod
    def from_pretrained(cls, folder: str | Path) -> Self:
        folder = Path(folder)
        config = read_config(folder)
        if config["copies"] != 1:
            raise HeadError(
                "is of several copies of a head, which answer by their mean",
                where=folder,
                expected="one head",
                found=f"{config['copies']} copies",
                do="load them with bv_search.heads.copies.load_heads",
            )
        check_size(config, folder / WEIGHTS_FILE, where=folder / CONFIG_FILE)
        head = cls.from_json(config, where=folder / CONFIG_FILE)
        head.load_weights(read_weights(folder, config), where=folder / WEIGHTS_FILE)
        return head

    def to_json(self) -> dict[str, Any]:
        about = {"head": self.config.to_json(), "inputs": RAW, "shape": asdict(self.shape)}
        if self.inputs is None:
            return about
        return {**about, "inputs": STANDARD, "values": STANDARD if self.inputs.has_values else RAW}

    @classmethod
    def from_json(cls, value: Mapping[str, Any], *, where: object) -> Self:
        """Its weights are still to be loaded."""
        described = decode_at(Described, value, HeadError, where=where, what=NO_CONFIG, more=True)
        shape = described.shape
        has_values = described.values == STANDARD and shape.is_value
        standard = Standard.empty(shape.layers, shape.width, has_values=has_values)
        inputs = standard if described.inputs == STANDARD else None
        return cls(head_from_json(dict(described.head)), shape, inputs)

    def load_weights(self, weights: dict[str, Tensor], *, where: object) -> None:
        """Refuses by name what is missing, too many, of another shape or no number."""
        own = self.state_dict()
        for name in own.keys() - weights.keys():
            raise HeadError(f"tensor {name} is missing", where=where)
        for name in weights.keys() - own.keys():
            raise HeadError(f"tensor {name} does not belong to {self.config.name}", where=where)
        for name, tensor in own.items():
            expected, found = tuple(tensor.shape), tuple(weights[name].shape)
            if expected != found:
                raise HeadError(
                    f"tensor {name} has a wrong shape", where=where, expected=expected, found=found
                )
            if weights[name].dtype != tensor.dtype:
                raise HeadError(
                    f"tensor {name} has a wrong type",
                    where=where,
                    expected=tensor.dtype,
                    found=weights[name].dtype,
                )
            if not weights[name].isfinite().all():
                raise HeadError(f"tensor {name} has values that are no numbers", where=where)
        self.load_state_dict(weights)


@dataclass(frozen=True, kw_only=True)
class Described:
    """What config.json says of a head itself."""

    head: Mapping[str, Any]
    inputs: InputsName
    shape: HeadShape
    values: InputsName = RAW


def check_size(config: Mapping[str, Any], weights: Path, *, where: object) -> None:
    """Refuse a head that its file cannot hold, before there is memory for it."""
    with torch.device("meta"):
        try:
            numbers = Head.from_json(config, where=where).stored_count() * config["copies"]
        except (RuntimeError, OverflowError) as error:  # more than an address can name
            raise HeadError(NO_CONFIG, where=where, found=error) from error
    size = check_plain(weights, HeadError)
    if 4 * numbers > size:
        raise HeadError(
            "does not fit its weights",
            where=where,
            expected=f"at least {4 * numbers:,} bytes",
            found=f"{size:,}",
        )


def read_weights(folder: Path, config: Mapping[str, Any]) -> dict[str, Tensor]:
    """Those that the config names."""
    try:
        weights: dict[str, Tensor] = load_tensors(read_weights_file(folder, config))
    except (SafetensorError, KeyError, ValueError, TypeError) as error:
        where = folder / WEIGHTS_FILE
        raise HeadError("is damaged", where=where, expected="safetensors", found=error) from error
    return weights


def count_parameters(config: HeadConfig, shape: HeadShape) -> int:
    with torch.device("meta"):
        return Head(config, shape).parameter_count()
