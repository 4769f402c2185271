"""A store opened for reading: its manifest, its splits, their blocks."""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, Unpack

import numpy as np
import pyarrow as pa

from bv_search.errors import OutputError, StoreError, UnknownName
from bv_search.files import digest_file
from bv_search.store.block import Block, Part
from bv_search.store.folder import Folder, RemoteFolder, damaged, open_folder
from bv_search.store.index import INDEX_SCHEMA, LOGITS_SCHEMA, list_arrays, read_columns
from bv_search.store.index_check import PLACES, flaws
from bv_search.store.layout import MANIFEST
from bv_search.store.manifest import DAMAGED, FileEntry, Manifest, SplitEntry
from bv_search.store.memory import BlockMemory
from bv_search.store.reader import BlockReader
from bv_search.store.statistics import Statistics
from bv_search.tasks.registry import task_from_json
from bv_search.tasks.task import Task
from bv_search.words import spell_size

if TYPE_CHECKING:
    from bv_search.store.arrays import ArraysOptions, Hidden, Labels

Feed = Callable[["StoreSplit", Sequence[Part]], Iterator[Block]]
"""Gives parts of a split's blocks without reading their files."""


class Store:
    """Hidden states of an encoder on a task's data. Whatever is read is checked against the manifest.

    `memory` is how many bytes of blocks are in memory at once, over all splits; None: as many as there are.
    `cache` is how many bytes of a far store this machine keeps; None: as many as its disk has room for.
    """

    def __init__(
        self, folder: Folder, manifest: Manifest, *, verify: bool = True, memory: int | None = None
    ) -> None:
        self.folder, self.manifest, self.verify = folder, manifest, verify
        self.path = folder.url
        self.memory = BlockMemory(memory, keeps_maps=not folder.is_far)
        self.feed: Feed | None = None  # None: blocks are read from their files
        self._require_room(memory)

    @classmethod
    def open(
        cls, place: str | Path, *, verify: bool = True, memory: int | None = None, cache: int | None = None
    ) -> Self:
        folder = open_folder(place, cache=cache)
        return cls(folder, read_manifest(folder), verify=verify, memory=memory)

    @classmethod
    def from_arrays(
        cls, place: str | Path, hidden: "Hidden", labels: "Labels", **options: Unpack["ArraysOptions"]
    ) -> Self:
        """A new store of hidden states from elsewhere; `store/arrays.py` says what they may be."""
        from bv_search.store.arrays import write_arrays

        write_arrays(place, hidden, labels, **options)
        return cls.open(place)

    def info(self) -> dict[str, Any]:
        """What it is, how large, and what a pass costs, which is measured."""
        from bv_search.store.info import describe

        return describe(self)

    def fed_by(self, feed: Feed) -> Self:
        """The same store, whose blocks come from elsewhere."""
        fed = type(self)(self.folder, self.manifest, verify=self.verify)
        fed.feed = feed
        return fed

    def _require_room(self, memory: int | None) -> None:
        largest = self.manifest.largest_block
        if memory is not None and memory < largest:
            raise StoreError(
                "has blocks that do not fit into the memory for them",
                where=self.path,
                expected=f"at least {spell_size(largest)}",
                found=spell_size(memory),
                do="give it more, or extract with smaller --block-size into another --out",
            )

    @property
    def digest(self) -> str:
        return self.manifest.digest

    @property
    def trouble(self) -> str | None:
        """Why its blocks were read past the node cache, once some were."""
        return self.folder.cache.trouble if isinstance(self.folder, RemoteFolder) else None

    @cached_property
    def task(self) -> Task:
        return task_from_json(self.manifest.task)

    @property
    def encoder_parameters(self) -> int:
        return self.manifest.encoder.parameters

    @cached_property
    def statistics(self) -> Statistics:
        """Of its training rows."""
        entry = self.manifest.statistics
        where = f"{self.path}/{entry.file}"
        return Statistics.from_bytes(self.checked(entry).read_bytes(), self.manifest.shape, where)

    def checked(self, entry: FileEntry) -> Path:
        """A file of this machine with the bytes that the manifest promises."""
        where = f"{self.path}/{entry.file}"
        try:
            path = self.folder.local(entry.file, entry.digest)
            found = digest_file(path) if self.verify else entry.digest
        except FileNotFoundError as error:
            raise damaged(where, entry.digest, "no file") from error
        if found != entry.digest:
            raise damaged(where, entry.digest, found)
        return path

    def split(self, name: str) -> "StoreSplit":
        if name not in self.manifest.splits:
            raise UnknownName("split", name, self.manifest.splits, do=f"choose one that {self.path} has")
        return self._splits[name]

    def splits(self, role: str | None = None) -> list["StoreSplit"]:
        """The splits of a role, or all, in the manifest's order."""
        return [split for split in self._splits.values() if role is None or split.role == role]

    @cached_property
    def _splits(self) -> dict[str, "StoreSplit"]:
        """Kept, since a split remembers which of its blocks have been checked."""
        return {name: StoreSplit(self, name, entry) for name, entry in self.manifest.splits.items()}


class StoreSplit:
    """Windows of one split in their seeded order; a prefix of them is a random sample."""

    def __init__(self, store: Store, name: str, entry: SplitEntry) -> None:
        self.store, self.name, self.entry = store, name, entry
        self.role = entry.role
        self.windows = entry.windows
        self.block_windows = tuple(block.windows for block in entry.blocks)
        self._reader = BlockReader(store.folder, store.manifest, entry, self._lengths, store.memory)

    @cached_property
    def index(self) -> pa.Table:
        return self.index_columns(None)

    def index_columns(self, columns: Sequence[str] | None) -> pa.Table:
        """Some columns of the index, read for themselves."""
        table = read_columns(self._index, INDEX_SCHEMA, columns)
        return self._whole(table, self.entry.index)

    def index_group(self, block: int, columns: Sequence[str]) -> pa.Table:
        """Some columns of the index for the windows of one block."""
        return read_columns(self._index, INDEX_SCHEMA, columns, group=block)

    @cached_property
    def _index(self) -> Path:
        path = self.store.checked(self.entry.index)
        self.refuse_nonsense(read_columns(path, INDEX_SCHEMA, PLACES))
        return path

    def refuse_nonsense(self, index: pa.Table) -> None:
        for expected, found in flaws(self._whole(index, self.entry.index), self.entry, self.store.task):
            where = f"{self.store.path}/{self.entry.index.file}"
            raise StoreError("makes no sense", where=where, expected=expected, found=found, do=DAMAGED)

    @cached_property
    def lengths(self) -> np.ndarray:
        """Stored tokens of every window."""
        return self._lengths()

    @cached_property
    def seen(self) -> int:
        """Windows of rows that the encoder was fine-tuned on."""
        column = self.index_columns(["seen"])["seen"]
        return int(np.count_nonzero(column.to_numpy()))

    def encoder_logits(self) -> list[np.ndarray] | None:
        """The encoder's own logits per window: (tokens, 2) for spans, (outputs,) otherwise."""
        if self.entry.encoder is None:
            return None
        table = read_columns(self.store.checked(self.entry.encoder), LOGITS_SCHEMA, ["logits"])
        flat = list_arrays(self._whole(table, self.entry.encoder)["logits"])
        return self.store.task.unflattened(flat)

    def refuse_nonsense_of_encoder(self) -> None:
        """Its predictions are of these windows, as many numbers as the task has, and finite."""
        if self.entry.encoder is None:
            return
        where = f"{self.store.path}/{self.entry.encoder.file}"
        sizes = self.store.task.logit_counts(self.index["length"].to_numpy())
        table = self._whole(
            read_columns(self.store.checked(self.entry.encoder), LOGITS_SCHEMA), self.entry.encoder
        )
        logits = list_arrays(table["logits"])
        if not table["id"].equals(self.index["id"]):
            raise StoreError(
                "makes no sense", where=where, expected="ids of the index", found="others", do=DAMAGED
            )
        if [len(each) for each in logits] != sizes.tolist() or not all(
            np.isfinite(each).all() for each in logits
        ):
            expected = f"{self.store.task.outputs} finite numbers for what is judged"
            raise StoreError("makes no sense", where=where, expected=expected, found="others", do=DAMAGED)

    def blocks(
        self,
        start: int = 0,
        stop: int | None = None,
        *,
        order: Sequence[int] | None = None,
        layers: Sequence[int] | None = None,
        verify: bool | None = None,
    ) -> Iterator[Block]:
        """Windows [start, stop) as mapped blocks, the next one being fetched while this one is used.

        `order` gives the numbers of the blocks to visit; those outside the range are left out. With
        `layers` only these channels are fetched and checked. The outer blocks are cut to the range.
        """
        parts = self._reader.parts(start, self.windows if stop is None else stop, order)
        return self.read(parts, layers=layers, verify=verify)

    def read(
        self, parts: Sequence[Part], *, layers: Sequence[int] | None = None, verify: bool | None = None
    ) -> Iterator[Block]:
        """Parts of blocks in the order asked for."""
        if self.store.feed is not None:
            return self.store.feed(self, parts)
        if not self.store.manifest.keeps_blocks:
            raise StoreError(
                "keeps no hidden states",
                where=self.store.path,
                expected="a store of --format npy or parquet",
                do="let the encoder make them: `bv-search tune --source live`",
            )
        check = self.store.verify if verify is None else verify
        return self._reader.read(parts, layers=layers, verify=check)

    def _lengths(self) -> np.ndarray:
        column = self.index_columns(["tokens"])["tokens"]
        lengths: np.ndarray = column.to_numpy()
        return lengths

    def _whole(self, table: pa.Table, entry: FileEntry) -> pa.Table:
        if table.num_rows != self.windows:
            raise StoreError(
                "has another number of rows",
                where=f"{self.store.path}/{entry.file}",
                expected=self.windows,
                found=table.num_rows,
            )
        return table


def read_manifest(folder: Folder) -> Manifest:
    """The manifest of a store: without one there is no store."""
    try:
        data = folder.read(MANIFEST)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError, ValueError) as error:
        raise StoreError(
            "is not a store",
            where=folder.url,
            expected=MANIFEST,
            found="an extraction that has not ended"
            if folder.exists(".extract")
            else ("no such file" if folder.present() else "no such folder"),
            do="make one with `bv-search extract`",
        ) from error
    except OSError as error:
        raise OutputError("cannot be read", where=folder.url, found=error) from error
    return Manifest.from_bytes(data, f"{folder.url}/{MANIFEST}")
