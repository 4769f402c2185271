"""A process keeps the memory that it freed, and few kernels."""

import ctypes
import json
import os
import subprocess
import sys
from typing import Any

import pytest

PROGRAM = """
import ctypes, json, os, sys
from bv_search.cpu.memory import prepare_memory
if "prepared" in sys.argv:
    prepare_memory()
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
size = 128 << 20
taken = libc.malloc(ctypes.c_size_t(size))
ctypes.memset(taken, 1, size)
libc.free(taken)
resident = int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
kernels = os.environ.get("ONEDNN_PRIMITIVE_CACHE_CAPACITY")
print(json.dumps({"keeps": resident > size, "kernels": kernels}))
"""

of_glibc = pytest.mark.skipif(
    not hasattr(ctypes.CDLL(None), "mallopt"), reason="other C libraries do as they do"
)


def told(*words: str, **environment: str) -> Any:
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("MALLOC_", "ONEDNN_"))}
    command = [sys.executable, "-c", PROGRAM, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=plain | environment)
    return json.loads(done.stdout)


@of_glibc
def test_what_was_freed_stays_with_the_process() -> None:
    assert told("prepared")["keeps"]
    assert not told()["keeps"]


def test_few_kernels_are_kept_unless_the_environment_says_how_many() -> None:
    assert told("prepared")["kernels"] == "256"
    assert told("prepared", ONEDNN_PRIMITIVE_CACHE_CAPACITY="7")["kernels"] == "7"
