"""What a head is, before it has weights. Free of torch: searchers and dry runs read it too."""

from bv_search.heads.config.adapters import (
    AdapterHead,
    FlatAdapterHead,
    PooledAdapterHead,
    TwoAdaptersHead,
)
from bv_search.heads.config.convolutions import CnnHead, NgramHead
from bv_search.heads.config.deep import InceptionHead, XceptionHead, XceptionModHead
from bv_search.heads.config.fit import check_fit, fits
from bv_search.heads.config.head import RAW, STANDARD, HeadConfig, Inputs, Pooling, Readout
from bv_search.heads.config.kinds import CONFIGS, head_from_json
from bv_search.heads.config.plain import ConstantHead, LinearHead, MlpHead
from bv_search.heads.config.poolings import AttentionHead, GatedPoolingHead, PoolingHead
from bv_search.heads.config.shape import HeadShape

__all__ = [
    "CONFIGS",
    "RAW",
    "STANDARD",
    "AdapterHead",
    "AttentionHead",
    "CnnHead",
    "ConstantHead",
    "FlatAdapterHead",
    "GatedPoolingHead",
    "HeadConfig",
    "HeadShape",
    "InceptionHead",
    "Inputs",
    "LinearHead",
    "MlpHead",
    "NgramHead",
    "PooledAdapterHead",
    "Pooling",
    "PoolingHead",
    "Readout",
    "TwoAdaptersHead",
    "XceptionHead",
    "XceptionModHead",
    "check_fit",
    "fits",
    "head_from_json",
]
