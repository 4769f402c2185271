"""The manifest: what a store is, and the size and digest of every file in it."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from bv_search.errors import StoreError
from bv_search.files import digest_bytes
from bv_search.store.dtype import STORED
from bv_search.store.layout import FORMATS, MANIFEST, NONE
from bv_search.store.strict import Mismatch, decode

FORMAT_VERSION = 2
DAMAGED = "restore it from a copy, or extract again"


@dataclass(frozen=True, kw_only=True)
class FileEntry:
    """A file of the store, by its name in it, its bytes and their digest."""

    file: str
    size: int
    digest: str


@dataclass(frozen=True, kw_only=True)
class BlockEntry:
    """A block. `layers` has one digest per channel, so that reading one channel checks only that one."""

    file: str
    windows: int
    tokens: int
    size: int
    digest: str
    layers: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class BareBlock:
    """A block that is not kept: the encoder makes it whenever it is read."""

    windows: int
    tokens: int


AnyBlock = BlockEntry | BareBlock


@dataclass(frozen=True, kw_only=True)
class SplitEntry:
    role: str
    windows: int
    tokens: int
    encoded_tokens: int
    blocks: tuple[AnyBlock, ...]
    index: FileEntry
    encoder: FileEntry | None

    @property
    def kept(self) -> tuple[BlockEntry, ...]:
        """The blocks that are files: all, or none."""
        return tuple(block for block in self.blocks if isinstance(block, BlockEntry))


@dataclass(frozen=True, kw_only=True)
class EncoderEntry:
    """The encoder whose hidden states these are; `stage` is where its stage folder was, if it was one."""

    id: str
    revision: str | None
    digest: str
    parameters: int
    stage: str | None = None
    fraction: float | None = None


@dataclass(frozen=True, kw_only=True)
class Baseline:
    """How well the encoder's own predictions do: official figures, and the task's score, by role."""

    select: dict[str, float]
    report: dict[str, float]
    select_score: float
    report_score: float


@dataclass(frozen=True, kw_only=True)
class Manifest:
    format_version: int = FORMAT_VERSION
    task: dict[str, Any]
    encoder: EncoderEntry
    tokenizer: dict[str, Any]
    tokens: str
    layers: tuple[str, ...]
    shape: tuple[int, int]
    dtype: str
    format: str
    seed: int
    data: str
    precision: str = "float32"
    batch_tokens: int = 0
    splits: dict[str, SplitEntry]
    statistics: FileEntry  # of the stored tokens of its training rows
    baseline: Baseline | None = None

    @property
    def token_bytes(self) -> int:
        return self.shape[0] * self.shape[1] * STORED[self.dtype].itemsize

    @property
    def one_token(self) -> bool:
        """Whether a window has one stored token."""
        return self.tokens != "all"

    @property
    def keeps_blocks(self) -> bool:
        return self.format != NONE

    @property
    def windows(self) -> int:
        return sum(split.windows for split in self.splits.values())

    @property
    def stored_tokens(self) -> int:
        return sum(split.tokens for split in self.splits.values())

    @property
    def encoded_tokens(self) -> int:
        """What the encoder reads for all of it."""
        return sum(split.encoded_tokens for split in self.splits.values())

    @property
    def largest_block(self) -> int:
        """Bytes that one block takes at most, as a file or in memory."""
        blocks = [block for split in self.splits.values() for block in split.blocks]
        kept = (block.size for block in blocks if isinstance(block, BlockEntry))
        return max((*kept, *(block.tokens * self.token_bytes for block in blocks)), default=0)

    @property
    def digest(self) -> str:
        return digest_bytes(_compact(asdict(self)))

    def files(self) -> Iterator[FileEntry | BlockEntry]:
        for split in self.splits.values():
            yield split.index
            if split.encoder is not None:
                yield split.encoder
            yield from split.kept
        yield self.statistics

    def to_bytes(self) -> bytes:
        """The file: the same manifest always gives the same bytes, so that every flipped bit shows."""
        body = asdict(self)
        return (json.dumps({**body, "digest": self.digest}, indent=1, allow_nan=False) + "\n").encode()

    @classmethod
    def from_bytes(cls, data: bytes, where: object) -> "Manifest":
        manifest = cls._from_json(_parse(data, where), where)
        _check(manifest, where)
        if manifest.to_bytes() != data:
            raise StoreError(
                "manifest is damaged",
                where=where,
                expected=f"digest {manifest.digest} for what it holds",
                found="other bytes",
                do=DAMAGED,
            )
        return manifest

    @classmethod
    def _from_json(cls, value: dict[str, Any], where: object) -> "Manifest":
        version = value.get("format_version")
        if version != FORMAT_VERSION:
            raise StoreError(
                "manifest of another format",
                where=where,
                expected=f"format_version {FORMAT_VERSION}",
                found=version,
                do="make it again: the same `bv-search extract` with --repair",
            )
        body = {name: item for name, item in value.items() if name != "digest"}
        try:
            return decode(cls, body)
        except Mismatch as error:
            raise StoreError(
                f"manifest is damaged at {error.path.lstrip('.') or 'its top'}",
                where=where,
                expected=error.expected,
                found=repr(error.found)[:80],
                do=DAMAGED,
            ) from error


def read_block(value: Any) -> AnyBlock:
    """A block's line of a manifest, by itself; Mismatch where it is none."""
    bare = isinstance(value, dict) and "file" not in value
    return decode(BareBlock, value) if bare else decode(BlockEntry, value)


def _compact(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def _parse(data: bytes, where: object) -> dict[str, Any]:
    try:
        value = json.loads(data.decode("utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise StoreError(
            "manifest is damaged", where=where, expected="JSON", found=str(error), do=DAMAGED
        ) from error
    if not isinstance(value, dict):
        raise StoreError("manifest is damaged", where=where, expected="a JSON object", do=DAMAGED)
    return value


def _check(manifest: Manifest, where: object) -> None:
    """What types alone do not say: known names, and sums that agree."""
    if manifest.dtype not in STORED or manifest.format not in FORMATS:
        raise StoreError(
            "manifest names an unknown dtype or format",
            where=f"{where}/{MANIFEST}",
            found=f"{manifest.dtype}, {manifest.format}",
            do=DAMAGED,
        )
    if len(manifest.layers) != manifest.shape[0]:
        raise StoreError(
            "manifest is damaged",
            where=where,
            expected=f"{manifest.shape[0]} layers",
            found=len(manifest.layers),
            do=DAMAGED,
        )
    for name, split in manifest.splits.items():
        if len(split.kept) != (len(split.blocks) if manifest.keeps_blocks else 0):
            raise StoreError(
                f"manifest is damaged: blocks of split {name!r} are not of its format",
                where=where,
                expected=manifest.format,
                found=f"{len(split.kept)} of {len(split.blocks)} blocks with a file",
                do=DAMAGED,
            )
        windows, tokens = (
            sum(block.windows for block in split.blocks),
            sum(block.tokens for block in split.blocks),
        )
        if (windows, tokens) != (split.windows, split.tokens):
            raise StoreError(
                f"manifest is damaged: blocks of split {name!r} do not add up",
                where=where,
                expected=f"{split.windows} windows, {split.tokens} tokens",
                found=f"{windows}, {tokens}",
                do=DAMAGED,
            )
