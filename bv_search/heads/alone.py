"""A head by itself, on a tensor of hidden states: no run, no store and no encoder are needed.

N windows, L channels, T tokens, H width, C outputs.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Self

import torch
from torch import Tensor, nn

from bv_search.errors import HeadError
from bv_search.heads.config import HeadConfig, HeadShape
from bv_search.heads.copies import Copies, count_all, load_heads, save_heads
from bv_search.heads.inputs import prepare, share_inputs
from bv_search.heads.pack import Pack
from bv_search.tasks.task import Kind
from bv_search.tasks.votes import mean_logits


class HeadAlone(nn.Module):
    """All copies of a head, which answer by their mean, as a run answers with it."""

    def __init__(self, copies: Copies) -> None:
        super().__init__()
        self.copies = nn.ModuleList(copies)
        self._pack = Pack(copies)

    @classmethod
    def from_pretrained(cls, folder: str | Path) -> Self:
        """From a trial's folder, `runs/first/trials/0007`, or wherever it was copied to."""
        return cls(load_heads(folder)).eval()

    def save_pretrained(self, folder: str | Path) -> None:
        save_heads(self._pack.heads, folder)

    @property
    def config(self) -> HeadConfig:
        return self._pack.heads[0].config

    @property
    def shape(self) -> HeadShape:
        return self._pack.heads[0].shape

    def parameter_count(self) -> int:
        return count_all(self._pack.heads)

    def forward(self, hidden: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Logits (N, C) of hidden states (N, L, H), or of all tokens (N, L, T, H); of spans (N, T, 2).

        `torch.stack(output.hidden_states, dim=1)` is the latter. `lengths` says how many tokens of each
        window are no padding; the logits of spans are -inf on padding. The weights of a head of one copy get
        gradients, hidden states do not; what several say is their mean, without.
        """
        self._check(hidden, lengths)
        hidden_NLTH = hidden.unsqueeze(2) if hidden.ndim == 3 else hidden
        windows, _, tokens, _ = hidden_NLTH.shape
        lengths_N = torch.full((windows,), tokens) if lengths is None else lengths.cpu().to(torch.int64)
        pieces = [each[:, :length] for each, length in zip(hidden_NLTH, lengths_N.tolist(), strict=True)]
        states = prepare(torch.cat(pieces, dim=1).float(), share_inputs(self._pack.heads))
        return self._mean(self._pack(states, lengths_N), lengths_N, tokens)

    def _check(self, hidden: Tensor, lengths: Tensor | None) -> None:
        layers, width, one = self.shape.layers, self.shape.width, self.shape.tokens == 1
        found = tuple(hidden.shape)
        if len(found) != (3 if one else 4) or (found[1], found[-1]) != (layers, width) or not found[0]:
            raise HeadError(
                "cannot read these hidden states",
                expected=f"a tensor (windows, {layers}, {'' if one else 'tokens, '}{width})",
                found=found,
            )
        if hidden.requires_grad and torch.is_grad_enabled():
            raise HeadError(
                "hidden states get no gradient through a head",
                expected="a tensor that needs none",
                do="detach() it, or ask within torch.no_grad()",
            )
        tokens = 1 if hidden.ndim == 3 else found[2]
        if lengths is not None and (
            tuple(lengths.shape) != (found[0],) or not 1 <= int(lengths.min()) <= int(lengths.max()) <= tokens
        ):
            raise HeadError(
                "lengths are not those of the windows",
                expected=f"{found[0]} numbers from 1 to {tokens}",
                found=lengths.tolist(),
            )

    def _mean(self, said: list[Tensor], lengths_N: Tensor, tokens: int) -> Tensor:
        if not self.shape.per_token:
            return said[0] if len(said) == 1 else self._mean_of_windows(said)
        sizes = lengths_N.tolist()
        if len(said) == 1:
            windows = list(_parts(said[0], sizes))
        else:
            each = [[part.numpy(force=True) for part in _parts(logits, sizes)] for logits in said]
            windows = [torch.from_numpy(window) for window in mean_logits(each, Kind.SPAN)]
        padded = [nn.functional.pad(w, (0, 0, 0, tokens - len(w)), value=float("-inf")) for w in windows]
        return torch.stack(padded)

    def _mean_of_windows(self, said: list[Tensor]) -> Tensor:
        kind = Kind.REGRESSION if self.shape.outputs == 1 else Kind.CLASSIFICATION
        mean: Tensor = torch.from_numpy(mean_logits([each.numpy(force=True) for each in said], kind))
        return mean


def _parts(logits_T2: Tensor, sizes: list[int]) -> Sequence[Tensor]:
    parts: Sequence[Tensor] = torch.split(logits_T2, sizes)
    return parts
