"""Where the seconds of a thread go, by looking at it now and then; and how much memory it has then."""

import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Event, Thread, get_ident
from types import FrameType
from typing import Self

from bv_search.bench.memory import resident

EVERY_SECONDS = 0.01
MEMORY_EVERY = 100  # looks


@dataclass(frozen=True, kw_only=True)
class MemoryPoint:
    done: int
    bytes: int


class Sampler:
    """Watches the thread that it was made in, from entering to leaving.

    `parts` are beginnings of paths of source files, and what they are called: a look counts for the innermost
    frame whose file is one of theirs. `done` says how far the work is.
    """

    def __init__(self, parts: Mapping[str, str], done: Callable[[], int]) -> None:
        self._parts, self._done = parts, done
        self._watched = get_ident()
        self._looks: Counter[str] = Counter()
        self.memory: list[MemoryPoint] = []
        self.seconds = 0.0
        self.cpu_seconds = 0.0  # of all threads
        self._over = Event()
        self._thread = Thread(target=self._watch, name="sampler", daemon=True)

    def __enter__(self) -> Self:
        self._began, self._cpu = time.monotonic(), time.process_time()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        self.seconds = time.monotonic() - self._began
        self.cpu_seconds = time.process_time() - self._cpu

    @property
    def shares(self) -> dict[str, float]:
        """Of the time, by part; the largest first."""
        total = sum(self._looks.values()) or 1
        return {part: looks / total for part, looks in self._looks.most_common()}

    def _watch(self) -> None:
        number = 0
        while not self._over.wait(EVERY_SECONDS):
            frame = sys._current_frames().get(self._watched)
            self._looks[self._part_of(frame)] += 1
            if number % MEMORY_EVERY == 0:
                self.memory.append(MemoryPoint(done=self._done(), bytes=resident()))
            number += 1

    def _part_of(self, frame: FrameType | None) -> str:
        while frame is not None:
            path = frame.f_code.co_filename
            for beginning, name in self._parts.items():
                if beginning in path:
                    return name
            frame = frame.f_back
        return "other"
