"""What a search may take, and when it has enough: a time, a target, patience, or Ctrl-C."""

import signal
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from threading import Thread, current_thread, main_thread
from typing import Any

from bv_search.command import Progress
from bv_search.scan.trial import TrialConfig
from bv_search.tune.resume import Past

INTERRUPTED = "interrupted"
ANSWER = "interrupted: segments under way are finished, and heads scored; again to stop at once"


class Budget:
    """When a search ends before its last trial.

    So many seconds from now on, with None as long as it takes; a `target` that a score on select reaches;
    `patience` trials in a row, as they end, without a gain; or a word from outside. Rungs of the `ladder` may
    reach the target, and are no trials that are waited for. A gain is a new best; with a `size` also a head
    that is smaller than all that are as good.
    """

    def __init__(
        self,
        seconds: float | None,
        *,
        target: float | None = None,
        patience: int | None = None,
        ladder: Collection[str] = (),
        size: Callable[[TrialConfig], int] | None = None,
    ) -> None:
        self.end = None if seconds is None else time.monotonic() + seconds
        self._target = target
        self._patience = patience
        self._ladder = frozenset(ladder)
        self._scores: dict[str, float] = {}
        self._size = size
        self._over: set[str] = set()
        self._front: list[tuple[float, int]] = []  # scores and sizes that were a gain
        self._vain = 0  # trials since the last gain
        self._reason: str | None = None
        self.is_interrupted = False  # whether or not that is the reason

    @property
    def left(self) -> float | None:
        return None if self.end is None else max(0.0, self.end - time.monotonic())

    @property
    def is_spent(self) -> bool:
        return self.reason is not None

    @property
    def reason(self) -> str | None:
        """Why the search is over, once it is."""
        late = self.end is not None and time.monotonic() >= self.end
        return self._reason or ("its time is up" if late else None)

    def hear(self, trial: str, score: float) -> None:
        """What a head is worth where it stands."""
        self._scores[trial] = score
        if self._target is not None and score >= self._target:
            self.stop(f"trial {trial} has {score:.4f} on select, and the target is {self._target:g}")

    def count(self, trial: str, config: TrialConfig) -> None:
        """A trial has come to its end, with a gain or without."""
        if trial in self._over or trial in self._ladder:
            return
        self._over.add(trial)
        self._vain = 0 if self._gains(trial, config) else self._vain + 1
        if self._vain == self._patience:
            self.stop(f"{self._vain} trials in a row without a gain")

    def forget(self, trial: str) -> None:
        """What a head that failed was worth on its way."""
        self._scores.pop(trial, None)

    def _gains(self, trial: str, config: TrialConfig) -> bool:
        score, size = self._scores.get(trial), self._size(config) if self._size else 0
        if score is None or any(score <= best and size >= small for best, small in self._front):
            return False
        self._front.append((score, size))
        return True

    def stop(self, reason: str) -> None:
        """The first reason is the one."""
        self._reason = self.reason or reason

    def interrupt(self) -> None:
        self.is_interrupted = True
        self.stop(INTERRUPTED)

    def recall(self, trials: Sequence[Past]) -> None:
        """What earlier sessions heard."""
        for past in sorted(trials, key=lambda past: past.ended):
            if past.score is not None:
                self.hear(past.trial, past.score)
            if past.counts:
                self.count(past.trial, past.typed_config)


@contextmanager
def interruptible(budget: Budget, progress: Progress) -> Iterator[None]:
    """Ctrl-C once ends the search as if its time were up; twice, at once.

    Where interrupts are ignored, as behind a `nohup`, they stay so.
    """
    usual = signal.getsignal(signal.SIGINT)
    if current_thread() is not main_thread() or usual in (None, signal.SIG_IGN):
        yield
        return

    def answer(number: int, frame: Any) -> None:
        signal.signal(signal.SIGINT, usual)
        budget.interrupt()
        # in a thread: the signal may have come in the middle of another line
        Thread(target=progress.say, args=(ANSWER,)).start()

    signal.signal(signal.SIGINT, answer)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
