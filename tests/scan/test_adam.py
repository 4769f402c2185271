"""The optimiser of a pack is torch's AdamW, for each head by itself."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from bv_search.heads.config import AdapterHead, HeadConfig, HeadShape, PoolingHead
from bv_search.heads.inputs import Standard
from bv_search.heads.pack import Pack
from bv_search.scan import adam as module
from bv_search.scan.adam import Adam
from bv_search.scan.learner import Learner, LearningCopy
from bv_search.scan.state import HeadState
from bv_search.scan.training import TrainingConfig
from bv_search.scan.trial import TrialConfig

SHAPE = HeadShape(layers=3, width=6, outputs=2, per_token=True)
PLAIN = TrainingConfig(learning_rate=3e-3, passes=1)
HEADS = AdapterHead(size=4, shared=False), PoolingHead()


@pytest.fixture(params=["compiled", "torch"])
def means(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A CPU's, or a GPU's, which run here too."""
    if request.param == "torch":
        monkeypatch.setattr(Adam, "_compiled_step", lambda self, due: module._foreach_step(due))


def is_matrix(name: str) -> bool:
    """Biases of per-layer adapters have three dimensions, and are biases all the same."""
    return "dense" in name or "down" in name


def attach(state: HeadState) -> Learner:
    standard = Standard.empty(SHAPE.layers, SHAPE.width)
    return Learner.attach(state, windows=160, standard=standard, device=torch.device("cpu"))


def learner(head: HeadConfig, training: TrainingConfig = PLAIN) -> Learner:
    config = TrialConfig(head=head, inputs="raw", training=training)
    return attach(HeadState.fresh(head.name, config, SHAPE))


def learning(head: HeadConfig, training: TrainingConfig = PLAIN) -> LearningCopy:
    return learner(head, training).copies[0]


def look(copies: Sequence[LearningCopy], seed: int) -> None:
    """A micro-batch of one window: each head's gradient grows by it."""
    generator = torch.Generator().manual_seed(seed)
    hidden_LTH, lengths_N = torch.randn(3, 20, 6, generator=generator), torch.tensor([20])
    outputs = Pack([each.head for each in copies])({None: hidden_LTH}, lengths_N)
    torch.autograd.backward(torch.stack([out.square().sum() for out in outputs]).sum() * 16)
    for each in copies:
        each.saw(16)


def tensors_of(each: LearningCopy) -> list[Tensor]:
    gradients = [parameter.grad for parameter in each.parameters if parameter.grad is not None]
    return [tensor.detach().clone() for tensor in (*each.parameters, *each.mean, *each.square, *gradients)]


@pytest.mark.usefixtures("means")
@pytest.mark.parametrize(
    "training",
    [PLAIN, replace(PLAIN, weight_decay=0.1), replace(PLAIN, schedule="cosine", warmup=0.25)],
    ids=["plain", "decay", "schedule"],
)
def test_steps_equal_those_of_adamw(training: TrainingConfig) -> None:
    ours = [learning(head, training) for head in HEADS]
    theirs = [learning(head, training).head for head in HEADS]
    decay = training.weight_decay
    optimisers = [
        torch.optim.AdamW(
            [
                {"params": [p for n, p in head.named_parameters() if is_matrix(n)], "weight_decay": decay},
                {"params": [p for n, p in head.named_parameters() if not is_matrix(n)], "weight_decay": 0.0},
            ]
        )
        for head in theirs
    ]

    adam = Adam(ours)
    for number in range(1, 9):
        hidden_LTH, lengths_N = torch.randn(3, 20, 6), torch.tensor([20])
        for heads, windows in (([each.head for each in ours], 16), (theirs, 1)):
            outputs = Pack(heads)({None: hidden_LTH}, lengths_N)
            losses = torch.stack([out.square().sum() for out in outputs])
            torch.autograd.backward(losses.sum() * windows)
        for each in ours:
            each.saw(16)
        adam.step(ours)
        for optimiser in optimisers:
            for group in optimiser.param_groups:
                group["lr"] = training.rate_at((number - 0.5) / 10)
            optimiser.step()
            optimiser.zero_grad()

    for each, head in zip(ours, theirs, strict=True):
        for mine, other in zip(each.parameters, head.parameters(), strict=True):
            torch.testing.assert_close(mine, other, rtol=1e-4, atol=1e-6)


@pytest.mark.usefixtures("means")
def test_those_that_are_not_due_stay_as_they_are() -> None:
    due, waiting = learning(AdapterHead(size=5)), learning(AdapterHead(size=4), replace(PLAIN, batch=32))
    adam = Adam([due, waiting])
    look([due, waiting], seed=0)
    before = tensors_of(waiting)
    adam.step([due])

    assert (due.steps, due.pending, waiting.steps, waiting.pending) == (1, 0, 0, 16)
    assert all(not parameter.grad.any() for parameter in due.parameters if parameter.grad is not None)
    assert all(torch.equal(now, then) for now, then in zip(tensors_of(waiting), before, strict=True))


@pytest.mark.usefixtures("means")
def test_a_heads_steps_do_not_depend_on_its_neighbours() -> None:
    """To the last bit, whatever stands before it in memory."""
    (alone, company), other = [learning(AdapterHead(size=7)) for _ in range(2)], learning(PoolingHead())
    by_itself, beside = Adam([alone]), Adam([other, company])
    for seed in range(4):
        for each in (alone, company):
            look([each], seed)
        look([other], seed + 10)
        by_itself.step([alone])
        beside.step([company, other])

    assert all(torch.equal(*pair) for pair in zip(tensors_of(alone), tensors_of(company), strict=True))


@pytest.mark.usefixtures("means")
def test_an_optimiser_that_is_made_anew_goes_on_where_the_last_one_was() -> None:
    """As when a neighbour leaves in the middle of a batch, and as from one segment to the next."""
    batch = replace(PLAIN, batch=32)
    kept, left = (learning(AdapterHead(size=7), batch) for _ in range(2))
    mover = learner(AdapterHead(size=7), batch)
    (moved,) = mover.copies
    whole = Adam([kept])
    for seed in range(4):
        look([kept], seed)
        if kept.due:
            whole.step([kept])

    first = Adam([left, moved])
    for seed in range(3):
        for each in (left, moved):
            look([each], seed)
        if moved.due:
            first.step([left, moved])
    (again,) = attach(HeadState.from_bytes(mover.detach().to_bytes())).copies
    assert again.pending == 16
    second = Adam([again])
    look([again], seed=3)
    second.step([again])

    assert all(torch.equal(*pair) for pair in zip(tensors_of(kept), tensors_of(again), strict=True))


def test_the_tensors_of_a_team_stand_in_one_memory() -> None:
    copies = [learning(AdapterHead(size=5)), learning(PoolingHead())]
    adam = Adam(copies)
    look(copies, seed=0)
    adam.step(copies)

    for kind in ("parameters", "mean", "square"):
        tensors: list[Tensor] = [tensor for each in copies for tensor in getattr(each, kind)]
        assert len({tensor.untyped_storage().data_ptr() for tensor in tensors}) == 1
    gradients = [parameter.grad for each in copies for parameter in each.parameters]
    assert len({gradient.untyped_storage().data_ptr() for gradient in gradients if gradient is not None}) == 1
