"""Some windows, and which of their tokens an answer depends on."""

import torch
from torch import Tensor

from bv_search.heads.config import HeadConfig, HeadShape
from bv_search.heads.head import Head
from bv_search.heads.pack import Pack

SPANS = HeadShape(layers=4, width=12, outputs=2, per_token=True)
LENGTHS = [3, 9, 1, 6]


def some_windows() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(4, sum(LENGTHS), 12, generator=generator), torch.tensor(LENGTHS)


def weights_of(head: Head) -> dict[str, Tensor]:
    return {name.removeprefix("branches.0."): tensor.detach() for name, tensor in head.named_parameters()}


def tokens_that_matter(config: HeadConfig, token: int) -> list[int]:
    """To the answer for one token of the second window."""
    hidden_LTH, lengths_N = some_windows()
    hidden_LTH.requires_grad_()
    head = Head(config, SPANS).initialise(3)
    out_TC = Pack([head])({None: hidden_LTH}, lengths_N)[0]
    (gradient_LTH,) = torch.autograd.grad(out_TC[LENGTHS[0] + token].sum(), hidden_LTH)
    return [t - LENGTHS[0] for t in gradient_LTH.abs().sum(dim=(0, 2)).nonzero().flatten().tolist()]
