"""A head that makes no sense on a store is refused before any work, in one line."""

from dataclasses import replace

import pytest

from bv_search.errors import HeadError
from bv_search.heads.config import (
    AttentionHead,
    FlatAdapterHead,
    HeadConfig,
    HeadShape,
    InceptionHead,
    LinearHead,
    NgramHead,
    PoolingHead,
    XceptionHead,
    XceptionModHead,
    check_fit,
)
from bv_search.heads.head import Head

SPANS = HeadShape(layers=7, width=32, outputs=2, per_token=True, tokens=386)
TOKENS = HeadShape(layers=7, width=32, outputs=2, per_token=False, tokens=128)
ONE_TOKEN = replace(TOKENS, tokens=1)


@pytest.mark.parametrize(
    ("config", "shape", "message"),
    [
        (NgramHead(), ONE_TOKEN, "needs all tokens of a window; .* found one token a window"),
        (InceptionHead(), ONE_TOKEN, "needs all tokens of a window"),
        (XceptionModHead(), ONE_TOKEN, "needs all tokens of a window"),
        (PoolingHead(readout="mean"), ONE_TOKEN, "needs all tokens .* extract with --tokens all"),
        (PoolingHead(readout="max"), ONE_TOKEN, "needs all tokens of a window"),
        (PoolingHead(readout="last"), ONE_TOKEN, "needs all tokens of a window"),
        (FlatAdapterHead(), ONE_TOKEN, "needs all tokens of a window"),
        (FlatAdapterHead(), SPANS, "answers for whole windows; .* found spans"),
        (XceptionHead(), SPANS, "answers for whole windows"),
        (AttentionHead(), SPANS, "answers for whole windows; .* found spans"),
        (AttentionHead(), ONE_TOKEN, "needs all tokens of a window; .* found one token a window"),
        (PoolingHead(readout="mean"), SPANS, "has the readout mean"),
        (PoolingHead(readout="max"), SPANS, "has the readout max"),
        (PoolingHead(readout="last"), SPANS, "has the readout last"),
        (FlatAdapterHead(), replace(TOKENS, tokens=None), "the longest window is not known"),
        (FlatAdapterHead(tokens=100), TOKENS, "expected tokens: 128 or more; found 100"),
        (LinearHead(channels=7), SPANS, "no such channel; expected channels: 0 to 6, or all; found 7"),
        (XceptionHead(), replace(TOKENS, width=8), "too narrow for it; expected 9 or more; found 8"),
    ],
    ids=lambda value: value.name if isinstance(value, HeadConfig) else None,
)
def test_what_does_not_fit_is_one_clear_line(config: HeadConfig, shape: HeadShape, message: str) -> None:
    for refuse in (check_fit, Head):
        with pytest.raises(HeadError, match=message) as caught:
            refuse(config, shape)
        assert str(caught.value).startswith(config.name)
        assert "\n" not in str(caught.value)


def test_every_channel_that_there_is_fits() -> None:
    for channel in range(SPANS.layers):
        check_fit(LinearHead(channels=channel), SPANS)


def test_without_a_known_length_nothing_is_refused_for_it() -> None:
    for config in (NgramHead(), FlatAdapterHead(tokens=5), PoolingHead(readout="mean")):
        check_fit(config, replace(TOKENS, tokens=None))
