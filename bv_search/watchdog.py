"""A watchdog over processes that are waited for: who waits for one that is gone waits for ever.

They are checked now and then, beside the work. Where one is gone the work is broken off, with an error that
says so. Where it stands in a call that no signal interrupts, as in many of Ray's, the whole process ends,
with that line and exit status: what was finished is on the disk.
"""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Event, Lock, Thread, current_thread, main_thread
from types import FrameType

from bv_search.errors import BvError

CHECK_SECONDS = 1.0  # between two checks
FAILURES = 2  # in a row, or a moment without a free socket would be one
PATIENCE_SECONDS = 10.0  # for the work to end by itself
ALARM = signal.SIGUSR2  # the other one is taken by Ray Tune

Check = Callable[[], BvError | None]
"""What is wrong, if anything is."""


class _BrokenOff(KeyboardInterrupt):
    """An interrupt, since Ray lets nothing else through where it waits."""


@contextmanager
def watchdog(check: Check, end_processes: Callable[[], object]) -> Iterator[Callable[[], object]]:
    """Work inside ends soon after something is wrong, with that error.

    `end_processes` ends what would outlive this process. What is yielded is called before an orderly end: it
    stops the checks.
    """
    if current_thread() is not main_thread():  # signals come to that alone
        yield lambda: None
        return
    watch = _Watchdog(check, end_processes)
    usual = signal.signal(ALARM, watch.answer)
    watch.start()
    try:
        yield watch.stop_checks
    except KeyboardInterrupt:
        if watch.wrong is not None:
            raise watch.wrong from None
        raise
    finally:
        watch.end()
        signal.signal(ALARM, usual)


class _Watchdog(Thread):
    def __init__(self, check: Check, end_processes: Callable[[], object]) -> None:
        super().__init__(daemon=True)
        self._check = check
        self._end_processes = end_processes
        self._checking = Lock()
        self._stopped = False
        self._over = Event()
        self.wrong: BvError | None = None

    def run(self) -> None:
        failures = 0
        while failures < FAILURES and not self._over.wait(CHECK_SECONDS):
            with self._checking:
                wrong = None if self._stopped else self._check()
            failures = 0 if wrong is None else failures + 1
            self.wrong = wrong if failures == FAILURES else None
        if self.wrong is not None and not self._over.is_set():
            signal.pthread_kill(main_thread().ident or 0, ALARM)
            if not self._over.wait(PATIENCE_SECONDS):
                self._exit(self.wrong)

    def answer(self, number: int, frame: FrameType | None) -> None:
        signal.signal(ALARM, signal.SIG_IGN)
        if not self._over.is_set():
            raise _BrokenOff

    def stop_checks(self) -> None:
        with self._checking:
            self._stopped = True

    def end(self) -> None:
        self._over.set()
        self.join()

    def _exit(self, wrong: BvError) -> None:
        with suppress(Exception):
            sys.stderr.write(f"bv-search: {wrong}\n")
            sys.stderr.flush()
            self._end_processes()
        os._exit(wrong.exit_status)
