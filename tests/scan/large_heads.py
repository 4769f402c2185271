"""A process of its own: a segment of large saved heads, and what memory it took beside what was planned."""

import json
import sys

from bv_search.bench.memory import forget_peak, peak, resident
from bv_search.heads.config import AdapterHead, HeadConfig
from bv_search.scan.capacity import need_of
from bv_search.scan.outcome import Start
from bv_search.scan.scanner import Scanner
from bv_search.scan.training import TrainingConfig
from bv_search.scan.trial import TrialConfig

LARGE = AdapterHead(size=40_000, shared=False)
TRIALS = ("a", "b", "c")


def main(place: str) -> None:
    scanner = Scanner(place, device="cpu", threads=1)
    scanner.segment([_start("small", AdapterHead())], 3, score=["small"])  # first steps of torch and its kin
    forget_peak()
    before = resident()
    saved = [scanner.segment([_start(trial, LARGE)], 14, score=())[0].state or b"" for trial in TRIALS]
    scanner.segment(saved, 26, score=TRIALS)
    planned = len(TRIALS) * need_of(LARGE, scanner.shape, dropout=0.0, longest=1, windows=32).alone
    print(json.dumps({"taken": peak() - before, "planned": planned}))  # noqa: T201


def _start(trial: str, head: HeadConfig) -> Start:
    """With the best weights of a pass, and pending gradients, after fourteen micro-batches."""
    return Start(trial=trial, config=TrialConfig(head=head, training=TrainingConfig(batch=32)))


if __name__ == "__main__":
    main(sys.argv[1])
