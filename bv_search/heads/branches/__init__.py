"""Branches: each maps the hidden states to its share of a head's outputs.

A head is the sum of its branches and a bias: the dense layer on concatenated features *is* the sum of
dense layers on each, so every paper head is a list of branches. Each kind knows how to run many of
itself, from different heads, as one wide operation.
"""

from bv_search.heads.branches.adapter import LayerAdapters, SharedAdapter
from bv_search.heads.branches.branch import Branch
from bv_search.heads.branches.last import Last
from bv_search.heads.branches.pooled import Pooled
from bv_search.heads.branches.pooled_adapter import PooledAdapter

__all__ = ["Branch", "Last", "LayerAdapters", "Pooled", "PooledAdapter", "SharedAdapter"]
