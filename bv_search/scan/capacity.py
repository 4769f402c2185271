"""How many heads fit into memory beside each other."""

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from bv_search.heads.config import HeadConfig, HeadShape
from bv_search.heads.head import Head
from bv_search.scan.trial import TrialConfig
from bv_search.store.layout import MICRO_BATCH

LARGEST = 64  # heads, or copies of them: beyond it, packs gain little and lose more with a lost worker
SHARE = 0.5  # of the free memory
FLOAT_BYTES = 4
TIMES = 25  # the weights: as they come, train, are averaged and score; the most that was measured is 24.1


def pack_capacity(
    trials: Sequence[TrialConfig],
    shape: HeadShape,
    *,
    longest: int,
    device: torch.device,
    copies: int = 1,
    reserved: int = 0,
    workers: int = 1,
) -> int:
    """Heads of the largest kind that may train together, where windows have up to `longest` tokens.

    Each has so many copies. So many workers share this machine's memory, and each has `reserved` bytes of it
    for blocks. A GPU has one worker, and holds no blocks.
    """
    dropout = max(trial.training.dropout for trial in trials)  # any head may be drawn with it
    # of one token a window, a step takes its batch at once
    windows = max(trial.training.batch for trial in trials) if longest == 1 else MICRO_BATCH
    heads = {trial.head for trial in trials}
    needs = [need_of(head, shape, dropout=dropout, longest=longest, windows=windows) for head in heads]
    free = free_memory(device)
    if device.type == "cpu":
        free = free // workers - reserved
    room = SHARE * free - max(need.in_turn for need in needs)
    return max(1, min(LARGEST // copies, int(room / copies / max(need.always for need in needs))))


@dataclass(frozen=True, kw_only=True)
class Need:
    """Bytes that a head takes in a segment: its weights, and what a step keeps."""

    always: int
    in_turn: int  # while it learns, of a head that takes turns: others of its kind wait

    @property
    def alone(self) -> int:
        return self.always + self.in_turn


def need_of(
    config: HeadConfig, shape: HeadShape, *, dropout: float, longest: int, windows: int = MICRO_BATCH
) -> Need:
    try:
        with torch.device("meta"):
            head = Head(config, shape)
    except RuntimeError:  # larger than torch can count: it fails by itself, as one trial
        return Need(always=sys.maxsize, in_turn=0)
    head.use_dropout(dropout, seed=0)
    tokens = windows * (longest if head.reads_all_tokens else 1)
    kept = FLOAT_BYTES * sum(branch.kept(tokens) for branch in head.typed_branches())
    weights = FLOAT_BYTES * TIMES * head.parameter_count()
    if head.takes_turns:
        return Need(always=weights, in_turn=kept)
    return Need(always=weights + kept, in_turn=0)


def free_memory(device: torch.device) -> int:
    if device.type == "cuda":
        torch.cuda.empty_cache()  # what torch keeps of an encoder that was measured can be had
        return int(torch.cuda.mem_get_info(device)[0])
    return _available_memory()


def _available_memory() -> int:
    """What can be had without swapping: free pages, and the page cache, which a store being read fills."""
    meminfo = Path("/proc/meminfo")
    if meminfo.exists():
        sizes = dict(line.split(":") for line in meminfo.read_text().splitlines())
        if "MemAvailable" in sizes:
            return int(sizes["MemAvailable"].split()[0]) * 1024
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
