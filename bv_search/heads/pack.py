"""A pack: many heads that read one batch of hidden states together."""

from collections import defaultdict
from collections.abc import Hashable, Sequence

import torch
from torch import Tensor

from bv_search.heads.branches import Branch
from bv_search.heads.head import Head


class Pack:
    """Runs heads of one shape at once: branches of a kind, from whatever heads, as one operation."""

    def __init__(self, heads: Sequence[Head]) -> None:
        assert len({head.shape for head in heads}) == 1, "heads of one pack share a shape"
        self.heads = list(heads)
        self._per_token = heads[0].shape.per_token
        self._groups = {
            readout: _group([(k, head) for k, head in enumerate(heads) if head.config.readout == readout])
            for readout in sorted({head.config.readout for head in heads})
        }

    def __call__(self, hidden_LTH: Tensor, lengths_N: Tensor) -> list[Tensor]:
        """Logits of every head: (T, C) for spans, (N, C) otherwise."""
        if self._per_token:
            return self._add_biases(
                self._outputs([g for gs in self._groups.values() for g in gs], hidden_LTH)
            )
        outputs: dict[int, Tensor] = {}
        for readout, groups in self._groups.items():
            if readout == "first":
                outputs |= self._outputs(groups, _first_tokens(hidden_LTH, lengths_N))
            else:
                by_token = self._outputs(groups, hidden_LTH)
                outputs |= {k: _window_means(out_TC, lengths_N) for k, out_TC in by_token.items()}
        return self._add_biases(outputs)

    def _outputs(self, groups: list[list[tuple[int, Branch]]], hidden_LTH: Tensor) -> dict[int, Tensor]:
        outputs: dict[int, Tensor] = {}
        for group in groups:
            branches = [branch for _, branch in group]
            for (k, _), out_TC in zip(group, type(branches[0]).fused(branches, hidden_LTH), strict=True):
                outputs[k] = outputs[k] + out_TC if k in outputs else out_TC
        return outputs

    def _add_biases(self, outputs: dict[int, Tensor]) -> list[Tensor]:
        return [outputs[k] + head.bias_C for k, head in enumerate(self.heads)]


def _group(heads: Sequence[tuple[int, Head]]) -> list[list[tuple[int, Branch]]]:
    groups: dict[Hashable, list[tuple[int, Branch]]] = defaultdict(list)
    for k, head in heads:
        for branch in head.typed_branches():
            groups[branch.fuse_key].append((k, branch))
    return list(groups.values())


def _first_tokens(hidden_LTH: Tensor, lengths_N: Tensor) -> Tensor:
    if hidden_LTH.shape[1] == len(lengths_N):
        return hidden_LTH
    return hidden_LTH[:, lengths_N.cumsum(0) - lengths_N]


def _window_means(out_TC: Tensor, lengths_N: Tensor) -> Tensor:
    """The dense layer is linear, so the mean of outputs is the output of the mean, padding never seen."""
    windows_T = torch.repeat_interleave(torch.arange(len(lengths_N), device=out_TC.device), lengths_N)
    sums_NC = out_TC.new_zeros(len(lengths_N), out_TC.shape[1]).index_add(0, windows_T, out_TC)
    return sums_NC / lengths_N[:, None]
