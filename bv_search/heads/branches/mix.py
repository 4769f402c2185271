"""Weights that mix the layers into one: learned (softmax and a scale) or the plain mean."""

from collections.abc import Sequence

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


def stack_mixes(mixes: Sequence[Mix], like: Tensor) -> Tensor:
    return torch.stack([mix.weights_L().to(like.device) for mix in mixes])


def mix_layers(mixes: Sequence[Mix], hidden_LTH: Tensor) -> Tensor:
    """pooled_KTH: K mixes are one matmul."""
    return apply_mixes(stack_mixes(mixes, hidden_LTH), hidden_LTH)


def apply_mixes(mixes_KL: Tensor, hidden_LTH: Tensor) -> Tensor:
    _, tokens, width = hidden_LTH.shape
    pooled = mixes_KL @ hidden_LTH.reshape(-1, tokens * width)
    return pooled.view(len(mixes_KL), tokens, width)


def mix_dense(mixes: Sequence[Mix], dense_KHX: Tensor) -> Tensor:
    """dense_LHX of all K side by side: each dense layer on its mix, as one on the layers themselves."""
    mixes_KL = stack_mixes(mixes, dense_KHX)
    return torch.einsum("kl,khx->lhkx", mixes_KL, dense_KHX).flatten(2)
