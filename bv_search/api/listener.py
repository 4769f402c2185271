"""Progress as Python hears it: on standard error, by a function of its own, or not at all."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from bv_search.command import CALM_THREADS, Progress

Listener = bool | Callable[[str], object]
"""True: lines on standard error; False: nothing; a function: it is called with each line."""


class CallbackProgress(Progress):
    """Each line to a function."""

    def __init__(self, listener: Callable[[str], object]) -> None:
        super().__init__(quiet=True)
        self._listener = listener

    def say(self, text: str) -> None:
        self._listener(text)

    def update(self, text: str) -> None:
        self._listener(text)


@contextmanager
def listening(listener: Listener) -> Iterator[Progress]:
    for name, value in CALM_THREADS.items():  # for a torch that is not imported yet
        os.environ.setdefault(name, value)
    progress = Progress(quiet=not listener) if isinstance(listener, bool) else CallbackProgress(listener)
    try:
        yield progress
    finally:
        progress.close()
