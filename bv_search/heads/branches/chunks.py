"""Work that is done chunk by chunk, where a batch's features would not fit into memory at once."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

NUMBERS = 2**24  # that a chunk's training step may keep


def in_chunks(run: Callable[[Tensor, int], Tensor], input_TX: Tensor, activations: int) -> Tensor:
    """`run` over the tokens, of which each keeps so many numbers; `run` is told the chunk's number.

    Beyond one chunk nothing is kept but the outputs: backward makes each chunk's features anew. Where
    chunks end depends on the head alone, so its result is the same in every pack.
    """
    if torch.compiler.is_compiling():  # a tracer follows no loop whose length it does not know
        return run(input_TX, 0)
    parts = torch.split(input_TX, max(1, NUMBERS // activations))
    if len(parts) == 1:
        return run(input_TX, 0)
    if not torch.is_grad_enabled():
        return torch.cat([run(part, number) for number, part in enumerate(parts)])
    return torch.cat(
        [
            checkpoint(run, part, number, use_reentrant=False, preserve_rng_state=False)
            for number, part in enumerate(parts)
        ]
    )


def kept(tokens: int, activations: int) -> int:
    """Numbers that a training step over so many tokens keeps at most."""
    return min(tokens * activations, NUMBERS)
