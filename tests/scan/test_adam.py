"""The fused optimiser is torch's AdamW, for each head by itself."""

from dataclasses import replace

import pytest
import torch

from bv_search.heads.config import AdapterHead, HeadShape, PoolingHead
from bv_search.heads.pack import Pack
from bv_search.scan import adam
from bv_search.scan.learner import Learner
from bv_search.scan.state import HeadState
from bv_search.scan.training import TrainingConfig
from bv_search.scan.trial import TrialConfig

SHAPE = HeadShape(layers=3, width=6, outputs=2, per_token=True)
PLAIN = TrainingConfig(learning_rate=3e-3)


def is_matrix(name: str) -> bool:
    """Biases of per-layer adapters have three dimensions, and are biases all the same."""
    return "dense" in name or "down" in name


@pytest.mark.parametrize(
    "training",
    [PLAIN, replace(PLAIN, weight_decay=0.1), replace(PLAIN, schedule="cosine", warmup=0.25)],
    ids=["plain", "decay", "schedule"],
)
def test_steps_equal_those_of_adamw(training: TrainingConfig) -> None:
    trials = [
        TrialConfig(head=head, training=training)
        for head in (AdapterHead(size=4, shared=False), PoolingHead())
    ]
    states = [HeadState.fresh(str(n), trial, SHAPE) for n, trial in enumerate(trials)]
    ours = [Learner.attach(s, windows=160, device=torch.device("cpu")) for s in states]
    theirs = [s.head() for s in states]
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

    for number in range(1, 9):
        hidden_LTH, lengths_N = torch.randn(3, 20, 6), torch.tensor([20])
        for heads, windows in (([learner.head for learner in ours], 16), (theirs, 1)):
            outputs = Pack(heads)(hidden_LTH, lengths_N)
            losses = torch.stack([out.square().sum() for out in outputs])
            torch.autograd.backward(losses.sum() * windows)
        for learner in ours:
            learner.saw(16)
        adam.step(ours)
        for optimiser in optimisers:
            for group in optimiser.param_groups:
                group["lr"] = training.rate_at((number - 0.5) / 10)
            optimiser.step()
            optimiser.zero_grad()

    for learner, head in zip(ours, theirs, strict=True):
        for mine, other in zip(learner.parameters, head.parameters(), strict=True):
            torch.testing.assert_close(mine, other, rtol=1e-4, atol=1e-6)
