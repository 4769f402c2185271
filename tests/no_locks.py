"""A disk without locks, as some clusters have them."""

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import pytest

from bv_search.errors import OutputError


@contextmanager
def refused_without_locks(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What is tried here says that the disk knows none."""

    def no_locks(handle: int, operation: int) -> NoReturn:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    monkeypatch.setattr(fcntl, "flock", no_locks)
    with pytest.raises(OutputError, match=r"knows no locks.*found Function not impl"):
        yield
