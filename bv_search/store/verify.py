"""Finding damage: every file of a store against the size and digest that its manifest gives, and its content
against what it is to mean."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from bv_search.store.block import check_header
from bv_search.store.folder import damage
from bv_search.store.store import Store

THREADS = 4


@dataclass(frozen=True, kw_only=True)
class Damage:
    file: str
    expected: str
    found: str


def find_damage(store: Store) -> Iterator[Damage | None]:
    """One result per file, as it is read: its damage, or None."""
    entries = list(store.manifest.files())
    with ThreadPoolExecutor(THREADS) as threads:
        found = threads.map(lambda e: damage(store.folder, e.file, e.size, e.digest), entries)
        for entry, what in zip(entries, found, strict=True):
            if what is None:
                yield None
            else:
                expected = f"{entry.size} bytes, {entry.digest}"
                yield Damage(file=entry.file, expected=expected, found=what)


def refuse_nonsense(store: Store) -> None:
    """What digests do not say, of a store without damage: StoreError where its content cannot be meant."""
    assert store.task, "a manifest of an unknown task is none"
    assert len(store.statistics.mean_LH), "statistics of the training rows"
    for split in store.splits():
        split.refuse_nonsense(split.index)
        split.refuse_nonsense_of_encoder()
        for block in split.entry.kept:
            if store.manifest.format == "npy":
                shape = (store.manifest.shape[0], block.tokens, store.manifest.shape[1])
                check_header(store.folder.local(block.file, block.digest), shape, store.manifest.dtype)
