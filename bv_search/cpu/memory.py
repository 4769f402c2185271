"""The memory of a process that makes and drops large tensors all the time."""

import ctypes
import os

TRIM_THRESHOLD, MMAP_MAX = -1, -4  # of <malloc.h>
NEVER = 2**31 - 1
KERNELS = 256  # more than a micro-batch takes


def prepare_memory() -> None:
    """To be called before the first matmul."""
    _keep_freed_memory()
    _keep_few_kernels()


def _keep_freed_memory() -> None:
    """Large tensors come out of memory that the process has already.

    By default the C library gives each back to the system, and the next micro-batch pays for its pages again:
    a pack of pooling heads took 1.4 times as long, one of them alone 2.2 times. What is above 64 MB in a
    lane's thread is given back all the same; one heap for all threads would keep it, and made packs 8 %
    slower. Other C libraries than glibc do as they do.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(MMAP_MAX, 0)
        mallopt(TRIM_THRESHOLD, NEVER)


def _keep_few_kernels() -> None:
    """Of the matmul kernels that oneDNN makes for each length of a micro-batch: few lengths are met again.

    It keeps a thousand, of 0.6 MB, by default.
    """
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", str(KERNELS))
