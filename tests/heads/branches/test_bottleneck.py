"""What is written out by hand is what autograd says of the plain formula, however it is cut into pieces."""

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from bv_search.heads.branches import bottleneck, dense
from bv_search.heads.branches.bottleneck import Piece
from bv_search.heads.branches.dense import TorchDense
from bv_search.heads.config import AdapterHead, HeadConfig, HeadShape, PooledAdapterHead
from bv_search.heads.head import Head
from bv_search.heads.pack import Pack

LAYERS, TOKENS, WIDTH = 3, 40, 12
SHAPE = HeadShape(layers=LAYERS, width=WIDTH, outputs=2, per_token=True)
CONFIGS: list[HeadConfig] = [
    AdapterHead(size=5),
    AdapterHead(size=20),
    AdapterHead(size=4, shared=False),
    AdapterHead(size=7, shared=False),
    PooledAdapterHead(size=5),
    PooledAdapterHead(size=9),
    PooledAdapterHead(size=3, pooling="average"),
    PooledAdapterHead(size=16, pooling="average"),
]


@pytest.fixture(params=["compiled", "torch"])
def means(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A CPU's, or a GPU's, which run here too."""
    if request.param == "torch":
        monkeypatch.setattr(dense, "CompiledDense", TorchDense)


@pytest.fixture(params=[True, False])
def libraries(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """oneDNN's matmuls and torch's own."""
    monkeypatch.setattr("bv_search.cpu.product.ONEDNN", request.param)


@pytest.fixture(params=["whole", "pieces"])
def pieces(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, means: None, libraries: None
) -> None:
    if request.param == "pieces":
        monkeypatch.setitem(bottleneck.PIECES, "cpu", Piece(rows=16, numbers=160))


def some(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def some_heads() -> list[Head]:
    heads = [Head(config, SHAPE).initialise(n) for n, config in enumerate(CONFIGS)]
    for n, head in enumerate(heads):
        for name, parameter in head.named_parameters():  # biases and mixes that are not neutral
            if parameter.dim() == 1 or "bias" in name:
                parameter.data += some(*parameter.shape, seed=n)
    return heads


def by_hand(head: Head, hidden_LTH: Tensor) -> Tensor:
    (branch,) = head.typed_branches()
    weights = dict(branch.named_parameters())
    if isinstance(head.config, PooledAdapterHead):
        mix_L = torch.full((LAYERS,), 1 / LAYERS)
        if head.config.pooling == "learned":
            mix_L = weights["mix.logits_L"].softmax(dim=0) * weights["mix.scale"]
        pooled_TH = torch.einsum("l,lth->th", mix_L, hidden_LTH)
        features = functional.gelu(pooled_TH @ weights["down_HA"] + weights["bias_A"])
        return features @ weights["dense_AC"] + head.bias_C
    down, bias = (weights[n] for n in weights if n.startswith(("down", "bias")))
    features = functional.gelu(hidden_LTH @ down + bias)
    return torch.einsum("lta,lac->tc", features, weights["dense_LAC"]) + head.bias_C


def trained(heads: list[Head], outputs: list[Tensor]) -> list[dict[str, Tensor]]:
    for head in heads:
        head.zero_grad()
    torch.autograd.backward(outputs, [some(TOKENS, 2, seed=9 + n) for n in range(len(outputs))])
    return [{n: p.grad.clone() for n, p in head.named_parameters() if p.grad is not None} for head in heads]


def test_outputs_and_gradients_are_those_of_the_plain_formula(pieces: None) -> None:
    hidden_LTH, heads = some(LAYERS, TOKENS, WIDTH), some_heads()
    expected = [by_hand(head, hidden_LTH) for head in heads]
    found = Pack(heads)({None: hidden_LTH}, torch.tensor([15, 25]))
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(trained(heads, found), trained(heads, expected), atol=1e-4, rtol=1e-4)


def test_a_head_that_diverged_spoils_no_gradient(pieces: None) -> None:
    hidden_LTH, heads = some(LAYERS, TOKENS, WIDTH), some_heads()
    lengths_N = torch.tensor([15, 25])
    before = trained(heads, Pack(heads)({None: hidden_LTH}, lengths_N))
    lost = {0, 2, 4, 6}
    for k in lost:
        for parameter in heads[k].parameters():
            torch.nn.init.constant_(parameter, float("nan"))
    after = trained(heads, Pack(heads)({None: hidden_LTH}, lengths_N))
    for k in set(range(len(heads))) - lost:
        torch.testing.assert_close(after[k], before[k])


def test_scoring_keeps_nothing_for_a_gradient(pieces: None) -> None:
    hidden_LTH, heads = some(LAYERS, TOKENS, WIDTH), some_heads()
    learning = Pack(heads)({None: hidden_LTH}, torch.tensor([15, 25]))
    with torch.inference_mode():
        scoring = Pack(heads)({None: hidden_LTH}, torch.tensor([15, 25]))
    torch.testing.assert_close(scoring, [each.detach() for each in learning])
    assert not any(each.requires_grad for each in scoring)
