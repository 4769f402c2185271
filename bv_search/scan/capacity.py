"""How many heads fit into memory beside each other."""

import os
from collections.abc import Sequence
from pathlib import Path

import torch

from bv_search.heads.config import HeadConfig, HeadShape
from bv_search.heads.head import Head

LARGEST = 64  # heads: beyond it, packs gain little and lose more with a lost worker
SHARE = 0.5  # of the free memory
FLOAT_BYTES = 4
COPIES = 6  # of the weights: themselves, fused, their gradients twice, two moments


def pack_capacity(
    heads: Sequence[HeadConfig], shape: HeadShape, *, tokens: int, device: torch.device, reserved: int = 0
) -> int:
    """Heads of the largest kind that may train together on micro-batches of so many tokens.

    `reserved` bytes of this machine's memory are for blocks; a GPU's memory holds none.
    """
    largest = max(_bytes(config, shape, tokens) for config in set(heads))
    free = free_memory(device) - (reserved if device.type == "cpu" else 0)
    return max(1, min(LARGEST, int(SHARE * free / largest)))


def _bytes(config: HeadConfig, shape: HeadShape, tokens: int) -> int:
    with torch.device("meta"):
        head = Head(config, shape)
    kept = sum(branch.kept(tokens) for branch in head.typed_branches())
    return FLOAT_BYTES * (COPIES * head.parameter_count() + kept)


def free_memory(device: torch.device) -> int:
    if device.type == "cuda":
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
