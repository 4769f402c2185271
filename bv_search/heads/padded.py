"""A head on padded hidden states, in operations that a tracer can follow: for programs that are no torch.

It is the same mathematics as in a `Pack`, without what makes that fast. Logits are the same to rounding.
"""

from torch import Tensor

from bv_search.heads.branches.padded import PaddedWindows
from bv_search.heads.head import Head
from bv_search.heads.pack import read_windows


def padded_logits(head: Head, hidden_LNSH: Tensor, inside_NS: Tensor) -> Tensor:
    """(N, S, C) for spans, where padding says anything; (N, C) otherwise."""
    if head.inputs is not None:
        mean_L11H, scale_L11H = (each[:, None, None] for each in (head.inputs.mean_LH, head.inputs.scale_LH))
        hidden_LNSH = (hidden_LNSH - mean_L11H) * scale_L11H
    if not head.reads_all_tokens:
        hidden_LNSH, inside_NS = hidden_LNSH[:, :, :1], inside_NS[:, :1]
    windows, longest = inside_NS.shape
    hidden_LTH, padded = hidden_LNSH.flatten(1, 2), PaddedWindows.of(inside_NS)
    out_TC = head.bias_C.new_zeros(windows * longest, len(head.bias_C))
    for branch in head.typed_branches():
        out_TC = out_TC + branch.plain(hidden_LTH, padded)
    if head.shape.per_token:
        return head.answer(out_TC + head.bias_C).view(windows, longest, -1)
    if head.reads_all_tokens:
        out_TC = read_windows(head.config.readout, out_TC, padded)
    return head.answer(out_TC + head.bias_C)
