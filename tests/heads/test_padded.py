"""Padded and in plain operations a head says what it says in a pack."""

import pytest
import torch

from bv_search.heads.config import (
    CONFIGS,
    AdapterHead,
    AttentionHead,
    CnnHead,
    ConstantHead,
    FlatAdapterHead,
    GatedPoolingHead,
    HeadConfig,
    HeadShape,
    InceptionHead,
    LinearHead,
    MlpHead,
    NgramHead,
    PooledAdapterHead,
    PoolingHead,
    TwoAdaptersHead,
    XceptionHead,
    XceptionModHead,
    fits,
)
from bv_search.heads.head import Head
from bv_search.heads.inputs import Standard, prepare, share_inputs
from bv_search.heads.pack import Pack
from bv_search.heads.padded import padded_logits

LAYERS, WIDTH, LENGTHS = 4, 12, (7, 1, 10, 4)
SHAPES = {
    "spans": HeadShape(layers=LAYERS, width=WIDTH, outputs=2, per_token=True, tokens=10),
    "windows": HeadShape(layers=LAYERS, width=WIDTH, outputs=3, per_token=False, tokens=10),
}
EVERY_KIND: list[HeadConfig] = [
    ConstantHead(),
    LinearHead(),
    LinearHead(channels=2, readout="last"),
    MlpHead(size=5, readout="max"),
    PoolingHead(),
    PoolingHead(pooling="average", readout="mean"),
    GatedPoolingHead(),
    AttentionHead(queries=2, position_bias=True),
    AdapterHead(size=5, skip=True),
    AdapterHead(size=5, shared=False, readout="mean"),
    PooledAdapterHead(size=5, skip=True),
    TwoAdaptersHead(size=5),
    FlatAdapterHead(size=3, tokens=12),
    CnnHead(channels=3, kernel=3, depth=2),
    NgramHead(size=5, filters=2, longest=4),
    NgramHead(size=5, filters=2, longest=4, along="features", readout="max"),
    InceptionHead(size=5, channels=3),
    InceptionHead(size=5, channels=3, keep_length=False, readout="mean"),
    XceptionModHead(size=5, channels=6, blocks=1),
    XceptionHead(skip=True),
]


def some_head(config: HeadConfig, shape: HeadShape, number: int) -> Head:
    """With weights of which none is zero, and statistics that are not those of a new head."""
    generator = torch.Generator().manual_seed(number)
    mean_LH = torch.randn(shape.layers, shape.width, generator=generator)
    standard = Standard(mean_LH, torch.full_like(mean_LH, 0.5))
    head = Head(config, shape, standard if number % 2 else None).initialise(number).eval()
    for tensor in head.state_dict().values():
        tensor.add_(torch.rand(tensor.shape, generator=generator), alpha=0.1)
    return head


def test_there_is_a_head_of_every_kind() -> None:
    assert {config.kind for config in EVERY_KIND} == set(CONFIGS)


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@torch.no_grad()
def test_a_head_says_the_same_of_padded_windows(shape: HeadShape) -> None:
    longest, lengths_N = max(LENGTHS), torch.tensor(LENGTHS)
    hidden_LNSH = torch.randn(
        LAYERS, len(LENGTHS), longest, WIDTH, generator=torch.Generator().manual_seed(0)
    )
    inside_NS = torch.arange(longest) < lengths_N[:, None]
    hidden_LTH = hidden_LNSH[:, inside_NS]
    for number, config in enumerate(config for config in EVERY_KIND if fits(config, shape)):
        head = some_head(config, shape, number)
        (expected,) = Pack([head])(prepare(hidden_LTH.clone(), share_inputs([head])), lengths_N)
        found = padded_logits(head, hidden_LNSH, inside_NS)
        found = found[inside_NS] if shape.per_token else found
        torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)
