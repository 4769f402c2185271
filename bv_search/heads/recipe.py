"""Which branches a head is made of."""

from collections.abc import Callable
from typing import Any

from bv_search.heads.branches import (
    AllChannels,
    Attention,
    Branch,
    Channel,
    FeatureNgrams,
    FlatAdapter,
    GatedPooled,
    Inception,
    LayerAdapters,
    Mlp,
    Pooled,
    PooledAdapter,
    SharedAdapter,
    TokenNgrams,
    WidthCnn,
    Xception,
    XceptionMod,
)
from bv_search.heads.config import (
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
)


def branches(config: HeadConfig, shape: HeadShape) -> list[Branch]:
    return RECIPES[type(config)](config, shape)


def _constant(config: ConstantHead, shape: HeadShape) -> list[Branch]:
    return []


def _linear(config: LinearHead, shape: HeadShape) -> list[Branch]:
    if config.channels == "all":
        return [AllChannels(shape.layers, shape.width, shape.outputs)]
    return [Channel(config.channels, shape.width, shape.outputs)]


def _mlp(config: MlpHead, shape: HeadShape) -> list[Branch]:
    return [Mlp(shape.layers, shape.width, config.size, shape.outputs)]


def _pooling(config: PoolingHead, shape: HeadShape) -> list[Branch]:
    return [Pooled(shape.layers, shape.width, shape.outputs, learned=config.pooling == "learned")]


def _gated_pooling(config: GatedPoolingHead, shape: HeadShape) -> list[Branch]:
    return [GatedPooled(shape.layers, shape.width, shape.outputs)]


def _attention(config: AttentionHead, shape: HeadShape) -> list[Branch]:
    return [Attention(config, shape)]


def _adapter(config: AdapterHead, shape: HeadShape) -> list[Branch]:
    kind = SharedAdapter if config.shared else LayerAdapters
    return [kind(shape.layers, shape.width, config.size, shape.outputs), *_skip(config, shape)]


def _pooled_adapter(config: PooledAdapterHead, shape: HeadShape) -> list[Branch]:
    learned = config.pooling == "learned"
    branch = PooledAdapter(shape.layers, shape.width, config.size, shape.outputs, learned=learned)
    return [branch, *_skip(config, shape)]


def _two_adapters(config: TwoAdaptersHead, shape: HeadShape) -> list[Branch]:
    sizes = (shape.layers, shape.width, config.size, shape.outputs)
    return [SharedAdapter(*sizes), PooledAdapter(*sizes, learned=True)]


def _flat_adapter(config: FlatAdapterHead, shape: HeadShape) -> list[Branch]:
    tokens = config.tokens or shape.tokens
    assert tokens is not None, "a head fits its shape"
    return [FlatAdapter(shape.layers, shape.width, config.size, shape.outputs, tokens=tokens)]


def _cnn(config: CnnHead, shape: HeadShape) -> list[Branch]:
    return [WidthCnn(config, shape)]


def _ngram(config: NgramHead, shape: HeadShape) -> list[Branch]:
    kind = TokenNgrams if config.along == "tokens" else FeatureNgrams
    return [kind(config, shape)]


def _inception(config: InceptionHead, shape: HeadShape) -> list[Branch]:
    return [Inception(config, shape)]


def _xception_mod(config: XceptionModHead, shape: HeadShape) -> list[Branch]:
    return [XceptionMod(config, shape)]


def _xception(config: XceptionHead, shape: HeadShape) -> list[Branch]:
    return [Xception(config, shape), *_skip(config, shape)]


def _skip(config: AdapterHead | PooledAdapterHead | XceptionHead, shape: HeadShape) -> list[Branch]:
    return [Channel(shape.layers - 1, shape.width, shape.outputs)] if config.skip else []


RECIPES: dict[type[HeadConfig], Callable[[Any, HeadShape], list[Branch]]] = {
    ConstantHead: _constant,
    LinearHead: _linear,
    MlpHead: _mlp,
    PoolingHead: _pooling,
    GatedPoolingHead: _gated_pooling,
    AttentionHead: _attention,
    AdapterHead: _adapter,
    PooledAdapterHead: _pooled_adapter,
    TwoAdaptersHead: _two_adapters,
    FlatAdapterHead: _flat_adapter,
    CnnHead: _cnn,
    NgramHead: _ngram,
    InceptionHead: _inception,
    XceptionModHead: _xception_mod,
    XceptionHead: _xception,
}
