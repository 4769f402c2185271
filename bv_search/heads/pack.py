"""A pack: many heads that read one batch of hidden states together."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from bv_search.heads.branches import Branch, Windows
from bv_search.heads.config import Readout
from bv_search.heads.head import Head
from bv_search.heads.inputs import Inputs, States

Group = list[tuple[int, Branch]]  # branches that run as one, with the numbers of their heads


@dataclass(frozen=True, kw_only=True)
class _Readers:
    """Heads that read the same tensor."""

    inputs: Inputs
    only_firsts: bool  # the first token of each window, or all tokens
    groups: list[Group]


class Pack:
    """Runs heads of one shape at once: branches of a kind, from whatever heads, as one operation."""

    def __init__(self, heads: Sequence[Head]) -> None:
        assert len({head.shape for head in heads}) == 1, "heads of one pack share a shape"
        self.heads = list(heads)
        self._per_token = heads[0].shape.per_token
        self._readers = list(_readers(heads))

    def __call__(self, states: States, lengths_N: Tensor, *, step: int | None = None) -> list[Tensor]:
        """Logits of every head: (T, C) for spans, (N, C) otherwise.

        `step` is the number of the micro-batch that the heads learn from; without it they are scored.
        """
        windows = Windows(lengths_N=lengths_N, step=step)
        firsts = Windows(lengths_N=torch.ones_like(lengths_N), step=step)
        outputs: dict[int, Tensor] = {}
        for readers in self._readers:
            hidden_LTH = states[readers.inputs]
            if readers.only_firsts:
                outputs |= _run(readers.groups, _firsts(hidden_LTH, windows), firsts)
            else:
                found = _run(readers.groups, hidden_LTH, windows)
                outputs |= {k: self._read(k, out_TC, windows) for k, out_TC in found.items()}
        return [
            head.answer(outputs[k] + head.bias_C if k in outputs else self._repeat(head.bias_C, windows))
            for k, head in enumerate(self.heads)
        ]

    def _repeat(self, bias_C: Tensor, windows: Windows) -> Tensor:
        """Of a head without branches: it says the same of everything."""
        rows = len(windows.owners_T) if self._per_token else len(windows.lengths_N)
        return bias_C.expand(rows, -1)

    def _read(self, head: int, out_TC: Tensor, windows: Windows) -> Tensor:
        return out_TC if self._per_token else read_windows(self.heads[head].config.readout, out_TC, windows)


def _readers(heads: Sequence[Head]) -> Iterable[_Readers]:
    """Heads for which a window is its first token stand apart: the others need not be touched for them."""
    together: dict[tuple[int, bool], list[tuple[int, Head]]] = defaultdict(list)
    for k, head in enumerate(heads):
        together[id(head.inputs), not head.reads_all_tokens].append((k, head))
    for (_, only_firsts), members in together.items():
        yield _Readers(inputs=members[0][1].inputs, only_firsts=only_firsts, groups=_group(members))


def _firsts(hidden_LTH: Tensor, windows: Windows) -> Tensor:
    is_first = hidden_LTH.shape[1] == len(windows.lengths_N)  # one token a window: there are no others
    return hidden_LTH if is_first else hidden_LTH[:, windows.firsts_N]


def _group(heads: Sequence[tuple[int, Head]]) -> list[Group]:
    groups: dict[Hashable, Group] = defaultdict(list)
    for k, head in heads:
        for branch in head.typed_branches():
            groups[branch.fuse_key].append((k, branch))
    return list(groups.values())


def _run(groups: list[Group], hidden_LTH: Tensor, windows: Windows) -> dict[int, Tensor]:
    outputs: dict[int, Tensor] = {}
    wide_LTH: Tensor | None = None
    for group in groups:
        branches = [branch for _, branch in group]
        kind, states_LTH = type(branches[0]), hidden_LTH
        if not kind.takes_narrow:  # of 32 bits they are the same
            wide_LTH = states_LTH = hidden_LTH.float() if wide_LTH is None else wide_LTH
        found = kind.fused(branches, states_LTH, windows)
        for (k, _), out_TC in zip(group, found, strict=True):
            outputs[k] = outputs[k] + out_TC if k in outputs else out_TC
    return outputs


def read_windows(readout: Readout, out_TC: Tensor, windows: Windows) -> Tensor:
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
