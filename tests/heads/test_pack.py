"""A pack is many heads on one batch, and none of them notices."""

from typing import Literal

import pytest
import torch
from torch import Tensor

from bv_search.heads.config import (
    AdapterHead,
    ConstantHead,
    GatedPoolingHead,
    HeadConfig,
    HeadShape,
    LinearHead,
    MlpHead,
    PooledAdapterHead,
    PoolingHead,
)
from bv_search.heads.head import Head
from bv_search.heads.pack import Pack

SPAN = HeadShape(layers=4, width=8, outputs=2, per_token=True)
CLASSES = HeadShape(layers=4, width=8, outputs=3, per_token=False)


def some_windows(*lengths: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(4, sum(lengths), 8, generator=generator), torch.tensor(lengths)


def test_span_heads_answer_for_each_token_and_others_for_each_window() -> None:
    hidden_LTH, lengths_N = some_windows(3, 5)
    head = PoolingHead()

    assert Pack([Head(head, SPAN).initialise(0)])({None: hidden_LTH}, lengths_N)[0].shape == (8, 2)
    assert Pack([Head(head, CLASSES).initialise(0)])({None: hidden_LTH}, lengths_N)[0].shape == (2, 3)


@pytest.mark.parametrize(("shape", "rows"), [(SPAN, 8), (CLASSES, 2)])
def test_a_constant_head_says_its_bias_of_everything(shape: HeadShape, rows: int) -> None:
    hidden_LTH, lengths_N = some_windows(3, 5)
    heads = [Head(config, shape).initialise(0) for config in (PoolingHead(), ConstantHead())]
    bias_C = heads[1].bias_C
    bias_C.data += torch.arange(1.0, shape.outputs + 1)
    for pack in (Pack(heads), Pack(heads[1:])):
        out_RC = pack({None: hidden_LTH}, lengths_N)[-1]
        (grad_C,) = torch.autograd.grad(out_RC.sum(), bias_C)

        assert torch.equal(out_RC, bias_C.expand(rows, -1))
        assert torch.equal(grad_C, torch.full_like(bias_C, rows))


EVERY_PRODUCT: list[HeadConfig] = [
    PoolingHead(),
    PoolingHead(pooling="average"),
    GatedPoolingHead(),
    LinearHead(),
    LinearHead(channels=2),
    MlpHead(size=3),
    AdapterHead(size=3, skip=True),
    AdapterHead(size=11),
    AdapterHead(size=3, shared=False),
    PooledAdapterHead(size=3, skip=True),
    PooledAdapterHead(size=11, pooling="average"),
]


@pytest.mark.parametrize("onednn", [True, False])
@pytest.mark.parametrize("dropout", [0.0, 0.4])
def test_channels_side_by_side_or_apart_are_the_same_states(
    monkeypatch: pytest.MonkeyPatch, onednn: bool, dropout: float
) -> None:
    """Rows in memory have theirs side by side, so that each layer of a batch is a slice."""
    monkeypatch.setattr("bv_search.cpu.product.ONEDNN", onednn)
    apart_LTH, _ = some_windows(40)
    side_by_side_LTH = apart_LTH.transpose(0, 1).contiguous().transpose(0, 1)
    assert not side_by_side_LTH.is_contiguous()

    def learned(hidden_LTH: Tensor, configs: list[HeadConfig]) -> tuple[list[Tensor], list[Tensor]]:
        heads = [Head(config, CLASSES).initialise(n) for n, config in enumerate(configs)]
        for n, head in enumerate(heads):
            head.use_dropout(dropout, seed=n)
        outputs = Pack(heads)({None: hidden_LTH}, torch.ones(40, dtype=torch.int64), step=0)
        torch.autograd.backward(torch.stack([out.square().sum() for out in outputs]).sum())
        return outputs, [p.grad for head in heads for p in head.parameters() if p.grad is not None]

    for configs in (EVERY_PRODUCT, *([config] for config in EVERY_PRODUCT)):
        expected, found = learned(apart_LTH, configs), learned(side_by_side_LTH, configs)
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


PAIRS: list[HeadConfig] = [
    AdapterHead(size=3),
    AdapterHead(size=4),
    PoolingHead(),
    PoolingHead(),
    LinearHead(),
    LinearHead(),
    LinearHead(channels=1),
    LinearHead(channels=1),
    MlpHead(size=3),
    MlpHead(size=4),
    GatedPoolingHead(),
    GatedPoolingHead(),
]


@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_a_diverged_head_leaves_the_others_as_they_are(dropout: float) -> None:
    """Their answers, and what they learn."""
    hidden_LTH, lengths_N = some_windows(3, 5)
    heads = [Head(config, SPAN).initialise(n) for n, config in enumerate(PAIRS)]
    for n, head in enumerate(heads):
        head.use_dropout(dropout, seed=n)
    sound = [parameter for head in heads[1::2] for parameter in head.parameters()]

    def run() -> tuple[list[Tensor], list[Tensor]]:
        outputs = Pack(heads)({None: hidden_LTH}, lengths_N, step=0)
        losses = torch.stack([out.square().sum() for out in outputs])
        return outputs, list(torch.autograd.grad(losses.sum(), sound))

    before, learned_before = run()
    for head in heads[::2]:
        for parameter in head.parameters():
            torch.nn.init.constant_(parameter, float("nan"))
    after, learned_after = run()

    torch.testing.assert_close(after[1::2], before[1::2])
    torch.testing.assert_close(learned_after, learned_before)
    assert not any(out.isfinite().any() for out in after[::2])


def test_heads_with_all_readouts_share_a_pack() -> None:
    hidden_LTH, lengths_N = some_windows(3, 5)
    readouts: list[Literal["first", "last", "mean", "max"]] = ["first", "last", "mean", "max"]
    heads = [Head(PooledAdapterHead(size=3, readout=r), CLASSES).initialise(0) for r in readouts]

    found = Pack(heads)({None: hidden_LTH}, lengths_N)

    (by_token,) = Pack([Head(PooledAdapterHead(size=3), CLASSES).initialise(0)])(
        {None: hidden_LTH}, torch.ones(8, dtype=torch.int64)
    )
    windows = by_token[:3], by_token[3:]
    torch.testing.assert_close(found[0], torch.stack([window[0] for window in windows]))
    torch.testing.assert_close(found[1], torch.stack([window[-1] for window in windows]))
    torch.testing.assert_close(found[2], torch.stack([window.mean(dim=0) for window in windows]))
    torch.testing.assert_close(found[3], torch.stack([window.amax(dim=0) for window in windows]))


def test_only_the_tokens_that_say_most_learn() -> None:
    """Of each output its own, and both halves where two say the same."""
    hidden_LTH = torch.zeros(4, 5, 8)
    hidden_LTH[:, :, 0] = torch.tensor([1.0, 3.0, 2.0, 5.0, 5.0])
    hidden_LTH[:, 3:, 1] = torch.tensor([1.0, 2.0])
    head = Head(PoolingHead(pooling="average", readout="max"), CLASSES).initialise(0)
    (dense_HC,) = head.typed_branches()[0].parameters()
    torch.nn.init.zeros_(dense_HC)
    dense_HC.data[0] = torch.tensor([1.0, -1.0, 1.0])
    out_NC = Pack([head])({None: hidden_LTH}, torch.tensor([3, 2]))[0]
    torch.autograd.backward(out_NC.sum())

    torch.testing.assert_close(out_NC, torch.tensor([[3.0, -1.0, 3.0], [5.0, -5.0, 5.0]]))
    assert dense_HC.grad is not None
    torch.testing.assert_close(dense_HC.grad[0], torch.tensor([8.0, 6.0, 8.0]))
    torch.testing.assert_close(dense_HC.grad[1], torch.tensor([1.5, 1.5, 1.5]))
