"""The seconds of fine-tuning, and what is told on its way."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from bv_search.encoder.training import Step

UPDATE_SECONDS = 0.5
SMOOTHING = 0.98  # of the shown loss, per step


class TrainingClock:
    """Counts the seconds of training, without those in which it stood still for scoring."""

    def __init__(self, seconds: float = 0.0, step: int = 0) -> None:
        """Going on after so many of each."""
        self._started = time.monotonic()
        self._before, self._first = seconds, step
        self._stopped_seconds = 0.0
        self._shown = float("-inf")
        self._tokens = 0
        self._loss: float | None = None

    @property
    def seconds(self) -> float:
        return self._before + self._here

    @property
    def _here(self) -> float:
        return time.monotonic() - self._started - self._stopped_seconds

    def count(self, step: Step) -> None:
        self._tokens += step.tokens
        self._loss = step.loss if self._loss is None else SMOOTHING * self._loss + (1 - SMOOTHING) * step.loss

    @contextmanager
    def stopped(self) -> Iterator[None]:
        began = time.monotonic()
        yield
        self._stopped_seconds += time.monotonic() - began

    def is_due(self) -> bool:
        """Whether it is time to tell of progress again."""
        now = time.monotonic()
        if now - self._shown < UPDATE_SECONDS:
            return False
        self._shown = now
        return True

    def describe(self, step: Step) -> str:
        here = max(self._here, 1e-9)
        left = here / (step.number - self._first) * (step.total - step.number)
        speed = self._tokens / here
        return (
            f"fine-tuning: step {step.number:,} of {step.total:,}, loss {self._loss:.3f}, "
            f"{speed:,.0f} tokens/s, {duration(left)} left"
        )


def duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"
