"""All kinds of heads, by name."""

from dataclasses import fields
from typing import Any

from bv_search.errors import HeadError, UnknownName
from bv_search.heads.config.adapters import (
    AdapterHead,
    FlatAdapterHead,
    PooledAdapterHead,
    TwoAdaptersHead,
)
from bv_search.heads.config.convolutions import CnnHead, NgramHead
from bv_search.heads.config.deep import InceptionHead, XceptionHead, XceptionModHead
from bv_search.heads.config.head import HeadConfig
from bv_search.heads.config.plain import ConstantHead, LinearHead, MlpHead
from bv_search.heads.config.poolings import AttentionHead, GatedPoolingHead, PoolingHead

KINDS: tuple[type[HeadConfig], ...] = (
    ConstantHead,
    LinearHead,
    MlpHead,
    PoolingHead,
    GatedPoolingHead,
    AttentionHead,
    AdapterHead,
    PooledAdapterHead,
    TwoAdaptersHead,
    FlatAdapterHead,
    CnnHead,
    NgramHead,
    InceptionHead,
    XceptionModHead,
    XceptionHead,
)
CONFIGS: dict[str, type[HeadConfig]] = {config.kind: config for config in KINDS}


def head_from_json(value: dict[str, Any]) -> HeadConfig:
    kind = value.get("kind")
    if not isinstance(kind, str) or kind not in CONFIGS:
        raise UnknownName("head", kind, CONFIGS)
    config = CONFIGS[kind]
    known = {field.name for field in fields(config)}
    unknown = sorted(value.keys() - known - {"kind"})
    if unknown:
        raise HeadError(f"no setting {unknown[0]!r}", where=f"{kind} head", expected=", ".join(sorted(known)))
    return config(**{name: setting for name, setting in value.items() if name != "kind"})
