"""What is kept of hidden states: which channels, of which tokens, in which dtype.

L layers, B windows of a batch, S tokens with padding, H width.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from bv_search.encoder.encoder import Encoded, Encoder
from bv_search.extract.settings import Settings
from bv_search.store.layout import POOLER

TORCH_DTYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}


class Channels:
    """Which hidden states are kept, of which tokens, in which dtype."""

    def __init__(self, chosen: Settings, encoder: Encoder) -> None:
        self.layers = hidden_layers(chosen.layers)
        self.every = self.layers == list(range(encoder.layers))
        self.pooler = chosen.layers[-1] == POOLER
        self.tokens = chosen.tokens
        self.dtype = TORCH_DTYPES[chosen.dtype]
        self.precision = TORCH_DTYPES[chosen.precision]

    def pick(self, encoded: Encoded) -> Tensor:
        """The kept channels of a batch (L, B, S or 1, H), in the stored dtype, still on its device."""
        hidden_LBSH = encoded.hidden_LBSH if self.every else encoded.hidden_LBSH[self.layers]
        if self.tokens == "first":
            hidden_LBSH = hidden_LBSH[:, :, :1]
        elif self.tokens == "mean":
            hidden_LBSH = _mean_of_tokens(hidden_LBSH, encoded.lengths)
        if self.pooler:
            assert encoded.pooler_BH is not None, "the settings name a pooler only where there is one"
            pooler_1B1H = encoded.pooler_BH.to(hidden_LBSH.dtype)[None, :, None]
            hidden_LBSH = torch.cat([hidden_LBSH, pooler_1B1H])
        return hidden_LBSH


def hidden_layers(channels: Sequence[str]) -> list[int]:
    """The places of channels among the hidden states, from their names."""
    return [int(name.split()[-1]) if " " in name else 0 for name in channels if name != POOLER]


def _mean_of_tokens(hidden_LBSH: Tensor, lengths: Sequence[int]) -> Tensor:
    lengths_B = torch.tensor(lengths, device=hidden_LBSH.device)
    mask_BS = torch.arange(hidden_LBSH.shape[2], device=hidden_LBSH.device) < lengths_B[:, None]
    total_LBH = torch.einsum("lbsh,bs->lbh", hidden_LBSH.float(), mask_BS.float())
    return (total_LBH / lengths_B[:, None])[:, :, None]
