"""The memory of a process that makes and drops large tensors all the time."""

import ctypes

TRIM_THRESHOLD, MMAP_MAX, ARENA_MAX = -1, -4, -8  # of <malloc.h>
NEVER = 2**31 - 1


def keep_freed_memory() -> None:
    """Large tensors come out of memory that the process has already.

    By default the C library gives each back to the system, and the next micro-batch pays for its pages again:
    a pack of pooling heads took 1.4 times as long, one of them alone 2.2 times. Other C libraries than glibc
    do as they do.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(MMAP_MAX, 0)
        mallopt(TRIM_THRESHOLD, NEVER)
        mallopt(ARENA_MAX, 1)  # a thread's own arena holds no large tensor
