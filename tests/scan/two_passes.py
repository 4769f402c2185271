"""A process of its own: two passes of training and one of scoring over a store, and what memory they took."""

import json
import sys

import xxhash

from bv_search.bench.memory import forget_peak, peak, resident
from bv_search.scan.outcome import Start
from bv_search.scan.scanner import Scanner
from bv_search.scan.score import score_split
from bv_search.scan.segment import Trained, train_segment
from bv_search.scan.trial import TrialConfig

HEADS = ({"kind": "adapter", "size": 4}, {"kind": "pooling"})


def main(place: str, memory: int | None) -> None:
    scanner = Scanner(place, device="cpu", memory=memory)
    states = [scanner.fresh(_start(number)) for number in range(len(HEADS))]
    data = scanner.training_data(states)
    split = data.rows.split
    train_segment(data, states, 1)  # what is compiled stays, for any store
    forget_peak()
    before = resident()
    trained = train_segment(data, states, 2 * -(-split.windows // 16))
    heads = [end.state.heads(data.standard)[0] for end in trained if isinstance(end, Trained)]
    logits = score_split(heads, split.store.split("dev"))
    taken = peak() - before
    digest = xxhash.xxh3_64_hexdigest(b"".join(row.tobytes() for rows in logits for row in rows))
    print(json.dumps({"taken": taken, "digest": digest}))  # noqa: T201


def _start(number: int) -> Start:
    config = TrialConfig.from_json({"head": HEADS[number], "passes": 2})
    return Start(trial=str(number), config=config)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else None)
