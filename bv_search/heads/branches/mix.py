"""Weights that mix the layers into one: learned (softmax and a scale) or the plain mean."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor, nn


class Mix(nn.Module):
    def __init__(self, layers: int, *, learned: bool) -> None:
        super().__init__()
        self.layers = layers
        self.logits_L = nn.Parameter(torch.zeros(layers)) if learned else None
        self.scale = nn.Parameter(torch.ones(1)) if learned else None

    def weights_L(self) -> Tensor:
        if self.logits_L is None or self.scale is None:
            return torch.full((self.layers,), 1.0 / self.layers)
        return self.logits_L.softmax(dim=0) * self.scale

    def initialise(self) -> None:
        """Start as the plain mean."""
        if self.logits_L is not None and self.scale is not None:
            nn.init.zeros_(self.logits_L)
            nn.init.ones_(self.scale)


@dataclass(frozen=True, kw_only=True)
class Mixes:
    """Every mix once, which of them is each head's, and which learn."""

    distinct: list[Mix]
    of_head: list[int]
    learned: frozenset[int]

    def heads(self) -> Iterator[list[int]]:
        """The heads on each mix."""
        for mix in range(len(self.distinct)):
            yield [k for k, of_head in enumerate(self.of_head) if of_head == mix]

    @classmethod
    def of(cls, mixes: Sequence[Mix]) -> Self:
        keys = [id(mix) if mix.logits_L is not None else 0 for mix in mixes]
        by_key = dict(zip(keys, mixes, strict=True))
        numbers = {key: number for number, key in enumerate(by_key)}
        return cls(
            distinct=list(by_key.values()),
            of_head=[numbers[key] for key in keys],
            learned=frozenset(number for key, number in numbers.items() if key),
        )


def stack_mixes(mixes: Sequence[Mix], like: Tensor) -> Tensor:
    return torch.stack([mix.weights_L().to(like.device) for mix in mixes])


def mix_layers(mixes: Sequence[Mix], hidden_LTH: Tensor) -> Tensor:
    """pooled_KTH: K mixes are one matmul."""
    return apply_mixes(stack_mixes(mixes, hidden_LTH), hidden_LTH)


def apply_mixes(mixes_KL: Tensor, hidden_LTH: Tensor) -> Tensor:
    _, tokens, width = hidden_LTH.shape
    pooled = mixes_KL.to(hidden_LTH.dtype) @ hidden_LTH.reshape(-1, tokens * width)
    return pooled.view(len(mixes_KL), tokens, width)


def mix_dense(mixes: Sequence[Mix], dense_KHX: Tensor) -> Tensor:
    """dense_LHX of all K side by side: each dense layer on its mix, as one on the layers themselves."""
    mixes_KL = stack_mixes(mixes, dense_KHX)
    return torch.einsum("kl,khx->lhkx", mixes_KL, dense_KHX).flatten(2)
