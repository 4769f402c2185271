"""Branches: each maps the hidden states to its share of a head's outputs.

A head is the sum of its branches and a bias: the dense layer on concatenated features *is* the sum of
dense layers on each, so every paper head is a list of branches. Light kinds know how to run many of
themselves, from different heads, as one wide operation; heavy ones take turns.
"""

from bv_search.heads.branches.adapter import LayerAdapters, SharedAdapter
from bv_search.heads.branches.attention import Attention
from bv_search.heads.branches.branch import Branch, Solo
from bv_search.heads.branches.flat_adapter import FlatAdapter
from bv_search.heads.branches.gated_pooled import GatedPooled
from bv_search.heads.branches.inception import Inception
from bv_search.heads.branches.linear import AllChannels, Channel
from bv_search.heads.branches.mlp import Mlp
from bv_search.heads.branches.ngrams import FeatureNgrams, TokenNgrams
from bv_search.heads.branches.pooled import Pooled
from bv_search.heads.branches.pooled_adapter import PooledAdapter
from bv_search.heads.branches.width_cnn import WidthCnn
from bv_search.heads.branches.windows import Windows
from bv_search.heads.branches.xception import Xception
from bv_search.heads.branches.xception_mod import XceptionMod

__all__ = [
    "AllChannels",
    "Attention",
    "Branch",
    "Channel",
    "FeatureNgrams",
    "FlatAdapter",
    "GatedPooled",
    "Inception",
    "LayerAdapters",
    "Mlp",
    "Pooled",
    "PooledAdapter",
    "SharedAdapter",
    "Solo",
    "TokenNgrams",
    "WidthCnn",
    "Windows",
    "Xception",
    "XceptionMod",
]
