"""The blocks that a store has in memory, over all its splits."""

import math
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock

import numpy as np

MAPS = 512
"""Maps kept open: each costs a file descriptor, of which a process may have as few as 1024."""


@dataclass(kw_only=True)
class _Held:
    size: int
    readers: int = 0
    map: np.ndarray | None = None


class BlockMemory:
    """At most `limit` bytes of blocks: those in use, and maps kept for the next pass.

    A kept map has its pages in place, so that the next pass does not fault once more on each. Where room is
    needed, the map that was used longest ago goes. A block in use stays, so a reader may always have one.
    Of a far store no map is kept: it would keep its block in the node cache of the machine.
    """

    def __init__(self, limit: int | None = None, *, keeps_maps: bool = True) -> None:
        self._limit = math.inf if limit is None else limit
        self._keeps_maps = keeps_maps
        self._held: OrderedDict[str, _Held] = OrderedDict()  # used longest ago first
        self._lock = Lock()

    @property
    def bytes(self) -> int:
        with self._lock:
            return self._bytes()

    def fits(self, file: str, size: int) -> bool:
        """Is there room for this block beside those in use?"""
        with self._lock:
            used = sum(held.size for name, held in self._held.items() if held.readers and name != file)
            return used + size <= self._limit

    def take(self, file: str, size: int) -> None:
        """A block comes into use; those that nobody uses make room for it."""
        with self._lock:
            held = self._held.setdefault(file, _Held(size=size))
            held.readers += 1
            self._held.move_to_end(file)
            self._make_room()

    def release(self, file: str) -> None:
        """Its reader goes on to another block. A map stays, what was read into memory goes."""
        with self._lock:
            held = self._held[file]
            held.readers -= 1
            if not held.readers and (held.map is None or not self._keeps_maps):
                del self._held[file]

    def map(self, file: str, make: Callable[[], np.ndarray]) -> np.ndarray:
        """The map of a block in use: the kept one, or a new one that will be kept."""
        with self._lock:
            held = self._held.get(file)
            if held is not None and held.map is not None:
                return held.map
        made = make()
        with self._lock:
            if file in self._held:
                self._held[file].map = made
        return made

    def _make_room(self) -> None:
        for name in [name for name, held in self._held.items() if not held.readers]:
            if self._bytes() <= self._limit and len(self._held) <= MAPS:
                return
            del self._held[name]

    def _bytes(self) -> int:
        return sum(held.size for held in self._held.values())
