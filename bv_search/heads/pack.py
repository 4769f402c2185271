"""A pack: many heads that read one batch of hidden states together."""

from collections import defaultdict
from collections.abc import Hashable, Sequence

import torch
from torch import Tensor

from bv_search.heads.branches import Branch, Windows
from bv_search.heads.config import Readout
from bv_search.heads.head import Head

Group = list[tuple[int, Branch]]  # branches that run as one, with the numbers of their heads


class Pack:
    """Runs heads of one shape at once: branches of a kind, from whatever heads, as one operation."""

    def __init__(self, heads: Sequence[Head]) -> None:
        assert len({head.shape for head in heads}) == 1, "heads of one pack share a shape"
        self.heads = list(heads)
        self._per_token = heads[0].shape.per_token
        everywhere = {k for k, head in enumerate(heads) if head.reads_all_tokens}
        self._everywhere = _group([(k, heads[k]) for k in sorted(everywhere)])
        self._at_firsts = _group([(k, head) for k, head in enumerate(heads) if k not in everywhere])

    def __call__(self, hidden_LTH: Tensor, lengths_N: Tensor, *, step: int | None = None) -> list[Tensor]:
        """Logits of every head: (T, C) for spans, (N, C) otherwise.

        `step` is the number of the micro-batch that the heads learn from; without it they are scored.
        """
        windows = Windows(lengths_N=lengths_N, step=step)
        outputs = _run(self._everywhere, hidden_LTH, windows)
        if not self._per_token:
            outputs = {k: _read(self.heads[k].config.readout, out, windows) for k, out in outputs.items()}
            outputs |= self._run_at_firsts(hidden_LTH, windows)
        outputs |= self._run_without_branches(windows)
        return [outputs[k] + head.bias_C for k, head in enumerate(self.heads)]

    def _run_without_branches(self, windows: Windows) -> dict[int, Tensor]:
        """Heads that are a bias alone: nothing is added to it."""
        rows = len(windows.owners_T) if self._per_token else len(windows.lengths_N)
        bare = {k: head.bias_C for k, head in enumerate(self.heads) if not head.branches}
        return {k: bias_C.new_zeros(rows, len(bias_C)) for k, bias_C in bare.items()}

    def _run_at_firsts(self, hidden_LTH: Tensor, windows: Windows) -> dict[int, Tensor]:
        """Heads for which a window is its first token, and the others need not be touched."""
        if not self._at_firsts:
            return {}
        if hidden_LTH.shape[1] != len(windows.lengths_N):
            hidden_LTH = hidden_LTH[:, windows.firsts_N]
        ones_N = torch.ones_like(windows.lengths_N)
        return _run(self._at_firsts, hidden_LTH, Windows(lengths_N=ones_N, step=windows.step))


def _group(heads: Sequence[tuple[int, Head]]) -> list[Group]:
    groups: dict[Hashable, Group] = defaultdict(list)
    for k, head in heads:
        for branch in head.typed_branches():
            groups[branch.fuse_key].append((k, branch))
    return list(groups.values())


def _run(groups: list[Group], hidden_LTH: Tensor, windows: Windows) -> dict[int, Tensor]:
    outputs: dict[int, Tensor] = {}
    for group in groups:
        branches = [branch for _, branch in group]
        found = type(branches[0]).fused(branches, hidden_LTH, windows)
        for (k, _), out_TC in zip(group, found, strict=True):
            outputs[k] = outputs[k] + out_TC if k in outputs else out_TC
    return outputs


def _read(readout: Readout, out_TC: Tensor, windows: Windows) -> Tensor:
    """out_NC. The dense layer is linear, so the mean of outputs is the output of the mean."""
    match readout:
        case "first":
            return out_TC[windows.firsts_N]
        case "last":
            return out_TC[windows.lasts_N]
        case "max":
            return windows.maxima(out_TC)
        case "sum":
            return windows.sums(out_TC)
        case "mean":
            return windows.sums(out_TC) / windows.lengths_N[:, None]
