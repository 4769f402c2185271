"""What the paper published of its span heads: percent of BERT-large's parameters, on 25x1024."""

from bv_search.heads.config.adapters import AdapterHead, PooledAdapterHead, TwoAdaptersHead
from bv_search.heads.config.convolutions import CnnHead, NgramHead
from bv_search.heads.config.deep import InceptionHead, XceptionModHead
from bv_search.heads.config.head import HeadConfig
from bv_search.heads.config.poolings import PoolingHead
from bv_search.heads.config.shape import HeadShape

PERCENT: dict[HeadConfig, float] = {
    PoolingHead(): 0.001,
    AdapterHead(size=386): 0.124,
    AdapterHead(size=64): 0.021,
    AdapterHead(size=386, shared=False): 2.957,
    AdapterHead(size=64, shared=False): 0.491,
    PooledAdapterHead(size=386, skip=True): 0.119,
    TwoAdaptersHead(size=386): 0.242,
    CnnHead(): 0.099,
    CnnHead(pooling="learned"): 0.093,
    CnnHead(pooling="average"): 0.093,
    CnnHead(channels=133, dilation=2): 0.121,
    NgramHead(): 0.332,
    NgramHead(along="features", filters=55): 0.207,
    InceptionHead(): 1.994,
    InceptionHead(keep_length=False): 1.994,
    XceptionModHead(): 1.970,
}


def published_percent(config: HeadConfig, shape: HeadShape) -> float | None:
    """None where nothing was published of such a head on such a shape."""
    same = (shape.layers, shape.width, shape.outputs, shape.per_token) == (25, 1024, 2, True)
    return PERCENT.get(config) if same else None
