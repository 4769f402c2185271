"""Finding damage: every file of a store against the size and digest that its manifest gives, and its content
against what it is to mean."""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any, Literal

from bv_search.command import Progress, Result
from bv_search.store.block import check_header
from bv_search.store.folder import damage
from bv_search.store.store import Store

THREADS = 4
REDO = "run the same `bv-search extract` with --repair"


@dataclass(frozen=True, kw_only=True)
class Damage:
    file: str
    expected: str
    found: str


@dataclass(frozen=True, kw_only=True)
class Verification:
    """What became of looking at every file of a store or a run."""

    kind: Literal["store", "run"]
    place: str
    files: int
    damaged: tuple[Damage, ...]
    truth: str  # what the files were held against
    do: str  # where some are damaged

    @property
    def ok(self) -> bool:
        return not self.damaged

    def __str__(self) -> str:
        if self.ok:
            return f"{self.place}: {self.files} files, all as the {self.truth} says"
        lines = [f"{each.file}: expected {each.expected}; found {each.found}" for each in self.damaged]
        return "\n".join([*lines, self.do])

    def to_json(self) -> dict[str, Any]:
        damaged = [asdict(each) for each in self.damaged]
        return {"ok": self.ok, self.kind: self.place, "files": self.files, "damaged": damaged}

    def result(self) -> Result:
        return Result(text=str(self), json=self.to_json(), exit_status=0 if self.ok else 2)


def verify_store(store: Store, progress: Progress) -> Verification:
    total = sum(1 for _ in store.manifest.files())
    damaged = gather_damage(find_damage(store), total, progress)
    if not damaged:
        refuse_nonsense(store)
    return Verification(
        kind="store", place=store.path, files=total, damaged=damaged, truth="manifest", do=REDO
    )


def gather_damage(found: Iterable[Damage | None], total: int, progress: Progress) -> tuple[Damage, ...]:
    damaged: list[Damage] = []
    for number, each in enumerate(found, start=1):
        progress.update(f"verified {number} of {total} files")
        if each is not None:
            damaged.append(each)
    return tuple(damaged)


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
                with store.folder.held(block.file, block.digest, block.size) as path:
                    check_header(path, shape, store.manifest.dtype)
