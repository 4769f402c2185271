"""Too little room on any disk, as this process sees it."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_room(beyond: int = 0) -> Iterator[None]:
    """The system lets no file of this process grow beyond so many bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (beyond, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
