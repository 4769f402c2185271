"""A head: branches that share one bias, saved as `config.json` and `model.safetensors`."""

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

import torch
from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors
from torch import Generator, Tensor, nn

from bv_search import files
from bv_search.errors import HeadError
from bv_search.heads.branches import Branch, Last, LayerAdapters, Pooled, PooledAdapter, SharedAdapter
from bv_search.heads.config import (
    AdapterHead,
    HeadConfig,
    HeadShape,
    PooledAdapterHead,
    PoolingHead,
    TwoAdaptersHead,
    head_from_json,
)

CONFIG_FILE = "config.json"
WEIGHTS_FILE = "model.safetensors"


class Head(nn.Module):
    """Weights and their architecture; a `Pack` runs them, one head or many."""

    def __init__(self, config: HeadConfig, shape: HeadShape) -> None:
        super().__init__()
        self.config = config
        self.shape = shape
        self.branches = nn.ModuleList(BRANCHES[type(config)](config, shape))
        self.bias_C = nn.Parameter(torch.zeros(shape.outputs))

    def initialise(self, seed: int) -> Self:
        generator = Generator().manual_seed(seed)
        for branch in self.typed_branches():
            branch.initialise(generator)
        nn.init.zeros_(self.bias_C)
        return self

    def typed_branches(self) -> list[Branch]:
        return [branch for branch in self.branches if isinstance(branch, Branch)]

    def parameter_count(self) -> int:
        return sum(parameter.numel() for parameter in self.parameters())

    def save_pretrained(self, folder: Path, **more: Any) -> None:
        """`more` goes into config.json beside the head: what a loader of answers needs to know."""
        files.write_bytes(folder / WEIGHTS_FILE, save_tensors(dict(self.state_dict())))
        value = {"head": self.config.to_json(), "shape": asdict(self.shape), **more}
        files.write_json(folder / CONFIG_FILE, value)

    @classmethod
    def from_pretrained(cls, folder: Path) -> Self:
        config = files.read_json(folder / CONFIG_FILE, HeadError)
        try:
            head = cls(head_from_json(config["head"]), HeadShape(**config["shape"]))
        except (KeyError, TypeError) as error:
            raise HeadError("is not a head's config", where=folder / CONFIG_FILE, found=error) from error
        head.load_weights(read_weights(folder / WEIGHTS_FILE), where=folder / WEIGHTS_FILE)
        return head

    def load_weights(self, weights: dict[str, Tensor], *, where: object) -> None:
        """Refuses by name what is missing, too many or of another shape."""
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
        self.load_state_dict(weights)


def read_weights(path: Path) -> dict[str, Tensor]:
    try:
        weights: dict[str, Tensor] = load_tensors(path.read_bytes())
    except FileNotFoundError as error:
        raise HeadError("does not exist", where=path) from error
    except SafetensorError as error:
        raise HeadError("is damaged", where=path, expected="safetensors", found=error) from error
    return weights


def count_parameters(config: HeadConfig, shape: HeadShape) -> int:
    with torch.device("meta"):
        return Head(config, shape).parameter_count()


def _pooling(config: Any, shape: HeadShape) -> list[Branch]:
    return [Pooled(shape.layers, shape.width, shape.outputs, learned=config.pooling == "learned")]


def _adapter(config: Any, shape: HeadShape) -> list[Branch]:
    kind = SharedAdapter if config.shared else LayerAdapters
    return [kind(shape.layers, shape.width, config.size, shape.outputs), *_skip(config, shape)]


def _pooled_adapter(config: Any, shape: HeadShape) -> list[Branch]:
    learned = config.pooling == "learned"
    branch = PooledAdapter(shape.layers, shape.width, config.size, shape.outputs, learned=learned)
    return [branch, *_skip(config, shape)]


def _two_adapters(config: Any, shape: HeadShape) -> list[Branch]:
    sizes = (shape.layers, shape.width, config.size, shape.outputs)
    return [SharedAdapter(*sizes), PooledAdapter(*sizes, learned=True)]


def _skip(config: Any, shape: HeadShape) -> list[Branch]:
    return [Last(shape.width, shape.outputs)] if config.skip else []


BRANCHES: dict[type[HeadConfig], Callable[[Any, HeadShape], list[Branch]]] = {
    PoolingHead: _pooling,
    AdapterHead: _adapter,
    PooledAdapterHead: _pooled_adapter,
    TwoAdaptersHead: _two_adapters,
}
