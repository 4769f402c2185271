"""The source work's own figures, of SQuAD 2.0 and BERT-large: beside ours where both are the same."""

from bv_search.heads.config import HeadConfig
from bv_search.heads.config.adapters import AdapterHead
from bv_search.heads.config.convolutions import CnnHead
from bv_search.heads.config.deep import XceptionModHead
from bv_search.heads.config.poolings import PoolingHead
from bv_search.store.store import Store
from bv_search.study.table import TableColumn

BERT_LARGE = 335_141_888  # parameters
DEV_QUESTIONS = 11_873  # of SQuAD 2.0

Figures = tuple[float | None, ...]
Published = dict[float, Figures]
"""By stage: exact match and F1."""

NONE: Figures = (None, None)

ENCODER: dict[str, Published] = {
    "squad2-span": {0.3: (0.654, 0.702), 1.0: (0.728, 0.777), 2.0: (0.747, 0.792)},
    "squad2-answerable": {1.0: (0.761, 0.720), 3.0: (0.804, 0.790)},
}
HEADS: dict[str, dict[HeadConfig, Published]] = {
    "squad2-span": {
        PoolingHead(): {0.3: (0.675, 0.721), 1.0: (0.731, 0.766)},
        PoolingHead(pooling="average"): {0.3: (0.657, 0.700)},
        CnnHead(pooling="average"): {1.0: (0.742, 0.786)},
        AdapterHead(size=386, skip=True): {0.3: (0.699, 0.740), 1.0: (0.740, 0.786)},
        AdapterHead(size=386): {0.3: (0.660, 0.703), 1.0: (0.749, 0.790)},
        AdapterHead(size=386, shared=False): {0.3: (0.676, 0.723), 1.0: (0.714, 0.769)},
        AdapterHead(size=64): {0.3: (0.677, 0.730), 1.0: (0.739, 0.785)},
        AdapterHead(size=64, skip=True): {0.3: (0.680, 0.732), 1.0: (0.742, 0.787)},
        XceptionModHead(): {0.3: (0.668, 0.711), 1.0: (0.741, 0.786)},
    },
    "squad2-answerable": {PoolingHead(): {1.0: (0.782, 0.763), 3.0: (0.811, 0.795)}},
}
MAXIMUM: dict[str, Published] = {"squad2-span": {0.3: (0.691, 0.734), 1.0: (0.756, 0.798)}}
"""Of the best head with its encoder, by element-wise maximum."""

SHARES: dict[float, float] = {0.1: 0.633, 0.3: 0.660, 0.5: 0.673, 1.0: 0.689}
"""Exact match of an adapter of 386 at 3/10 of an epoch, by its share of the data."""


def is_published(store: Store) -> bool:
    """Whether the source work had this task, this data and this encoder."""
    same = store.task.name in ENCODER and store.encoder_parameters == BERT_LARGE
    return same and _questions(store) == DEV_QUESTIONS


def _questions(store: Store) -> int:
    return sum(len(set(split.index_columns(["row"])["row"].to_pylist())) for split in store.splits("report"))


def columns(stage: str) -> tuple[TableColumn, ...]:
    return tuple(TableColumn(name=f"published {name} {stage}") for name in ("EM", "F1"))
