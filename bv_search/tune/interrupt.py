"""Ctrl-C: asked once, a search ends as if its time were up; asked twice, at once."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread, current_thread, main_thread
from typing import Any

from bv_search.command import Progress
from bv_search.tune.budget import INTERRUPTED, Budget

ANSWER = "interrupted: segments under way are finished, and heads scored; again to stop at once"


@contextmanager
def interruptible(budget: Budget, progress: Progress) -> Iterator[None]:
    """Where interrupts are ignored, as behind a `nohup`, they stay so."""
    usual = signal.getsignal(signal.SIGINT)
    if current_thread() is not main_thread() or usual in (None, signal.SIG_IGN):
        yield
        return

    def answer(number: int, frame: Any) -> None:
        signal.signal(signal.SIGINT, usual)
        budget.stop(INTERRUPTED)
        # in a thread: the signal may have come in the middle of another line
        Thread(target=progress.say, args=(ANSWER,)).start()

    signal.signal(signal.SIGINT, answer)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
