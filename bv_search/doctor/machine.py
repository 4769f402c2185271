"""Processor, memory, disk and GPUs, as the system tells of them."""

import os
import platform
import shutil
from dataclasses import dataclass
from pathlib import Path

CPU_FACTS = Path("/proc/cpuinfo")
MEMORY_FACTS = Path("/proc/meminfo")
FEATURES = ("avx2", "avx512f", "avx512_bf16", "amx_bf16", "amx_tile")
"""Those that decide how fast heads and encoders are."""


@dataclass(frozen=True, kw_only=True)
class Machine:
    cpu: str
    features: tuple[str, ...]
    cores: int  # that this process may use
    memory: int  # bytes
    memory_free: int
    disk_free: int  # at the place of the runs
    runs: str
    gpus: tuple[str, ...]


def look(runs: Path) -> Machine:
    cpu, memory = _facts(CPU_FACTS), _facts(MEMORY_FACTS)
    flags = set(cpu.get("flags", "").split())
    return Machine(
        cpu=cpu.get("model name") or platform.processor() or platform.machine(),
        features=tuple(name for name in FEATURES if name in flags),
        cores=len(os.sched_getaffinity(0)),
        memory=_bytes(memory.get("MemTotal", "0")),
        memory_free=_bytes(memory.get("MemAvailable", "0")),
        disk_free=shutil.disk_usage(_nearest(runs)).free,
        runs=str(runs.absolute()),
        gpus=_gpus(),
    )


def _facts(file: Path) -> dict[str, str]:
    """The first value of each name; nothing on a system that has no such file."""
    found: dict[str, str] = {}
    for line in file.read_text().splitlines() if file.is_file() else ():
        name, _, value = line.partition(":")
        found.setdefault(name.strip(), value.strip())
    return found


def _bytes(said: str) -> int:
    return int(said.split(maxsplit=1)[0]) * 1024


def _nearest(folder: Path) -> Path:
    """Itself or the first folder above it that is there."""
    return next(each for each in (folder.absolute(), *folder.absolute().parents) if each.is_dir())


def _gpus() -> tuple[str, ...]:
    import torch

    if not torch.cuda.is_available():
        return ()
    return tuple(torch.cuda.get_device_name(number) for number in range(torch.cuda.device_count()))
