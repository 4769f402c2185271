"""A lifeline to processes that are waited for: who waits for one that is gone waits for ever.

They are looked at now and then, beside the work. Where one is gone the work is broken off, with an error that
says so. Where it stands in a call that does not hear of it, as many of Ray's do, the whole process ends, by
that line and exit status: what was finished is on the disk.
"""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Event, Lock, Thread, current_thread, main_thread
from types import FrameType

from bv_search.errors import BvError

PULSE_SECONDS = 0.5  # between two looks
PATIENCE_SECONDS = 10.0  # for the work to end by itself
ALARM = signal.SIGUSR2  # the other one is taken by Ray Tune

Look = Callable[[], BvError | None]
"""What is wrong, if anything is."""


class _CutOff(KeyboardInterrupt):
    """An interrupt, since Ray lets nothing else through where it waits."""


@contextmanager
def lifeline(look: Look, let_go: Callable[[], object]) -> Iterator[Callable[[], object]]:
    """Work inside ends soon after something is wrong, with that error.

    `let_go` ends what would outlive the process. What is yielded is called before an orderly end: nobody
    looks any more.
    """
    if current_thread() is not main_thread():  # signals come to that alone
        yield lambda: None
        return
    watch = _Watch(look, let_go)
    usual = signal.signal(ALARM, watch.answer)
    watch.start()
    try:
        yield watch.rest
    except KeyboardInterrupt:
        if watch.wrong is not None:
            raise watch.wrong from None
        raise
    finally:
        watch.end()
        signal.signal(ALARM, usual)


class _Watch(Thread):
    def __init__(self, look: Look, let_go: Callable[[], object]) -> None:
        super().__init__(daemon=True)
        self._look = look
        self._let_go = let_go
        self._looking = Lock()
        self._rests = False
        self._over = Event()
        self.wrong: BvError | None = None

    def run(self) -> None:
        while self.wrong is None and not self._over.wait(PULSE_SECONDS):
            with self._looking:
                self.wrong = None if self._rests else self._look()
        if self.wrong is not None and not self._over.is_set():
            signal.pthread_kill(main_thread().ident or 0, ALARM)
            if not self._over.wait(PATIENCE_SECONDS):
                self._end_all(self.wrong)

    def answer(self, number: int, frame: FrameType | None) -> None:
        signal.signal(ALARM, signal.SIG_IGN)
        if not self._over.is_set():
            raise _CutOff

    def rest(self) -> None:
        with self._looking:
            self._rests = True

    def end(self) -> None:
        self._over.set()
        self.join()

    def _end_all(self, wrong: BvError) -> None:
        with suppress(Exception):
            sys.stderr.write(f"bv-search: {wrong}\n")
            sys.stderr.flush()
            self._let_go()
        os._exit(wrong.exit_status)
