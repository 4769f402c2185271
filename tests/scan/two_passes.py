"""A process of its own: two passes of training and one of scoring over a store, and what memory they took."""

import json
import sys

import numpy as np
import torch
import xxhash

from bv_search.bench.memory import forget_peak, peak, resident
from bv_search.scan.ground import head_shape, train_split
from bv_search.scan.score import score_heads
from bv_search.scan.segment import TrainSplit, train_segment
from bv_search.scan.state import HeadState
from bv_search.scan.trial import TrialConfig
from bv_search.store.store import Store

CPU = torch.device("cpu")
HEADS = ({"kind": "adapter", "size": 4}, {"kind": "pooling"})


def main(place: str, window: int | None) -> None:
    store = Store.open(place, window=window)
    split = train_split(store)
    labels = np.stack(split.index_columns(["label"])["label"].to_numpy())
    source = TrainSplit(split=split, labels_ND=labels, kind=store.task.kind, seed=0)
    states = [_fresh(store, number) for number in range(len(HEADS))]
    train_segment(source, states, 1, device=CPU)  # what is compiled stays, for any store
    forget_peak()
    before = resident()
    trained = train_segment(source, states, 2 * -(-split.windows // 16), device=CPU)
    heads = [state.head() for state in trained if isinstance(state, HeadState)]
    logits = score_heads(heads, store.split("dev"))
    taken = peak() - before
    digest = xxhash.xxh3_64_hexdigest(b"".join(row.tobytes() for rows in logits for row in rows))
    print(json.dumps({"taken": taken, "digest": digest}))  # noqa: T201


def _fresh(store: Store, number: int) -> HeadState:
    config = TrialConfig.from_json({"head": HEADS[number], "epochs": 2})
    return HeadState.fresh(str(number), config, head_shape(store))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else None)
