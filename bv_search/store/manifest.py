"""The manifest: what a store is, and the size and digest of every file in it."""

import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Annotated, Any

from bv_search.document import (
    Count,
    Mismatch,
    Number,
    Positive,
    Range,
    Text,
    Unreadable,
    decode,
    load_json,
    one_of,
)
from bv_search.errors import StoreError
from bv_search.files import digest_bytes
from bv_search.precision import FLOAT32, PRECISIONS
from bv_search.store.dtype import STORED
from bv_search.store.layout import ALL, EMBEDDINGS, FORMATS, NONE, POOLER, TOKENS
from bv_search.tasks.row import Role

FORMAT_VERSION = 2
SLACK_BYTES = 1 << 20  # of a block's file, beside its values
DAMAGED = "restore it from a copy, or extract again"
_NAME = re.compile(r"[\w.-]+")  # of a split, which is a folder's too
_CHANNEL = re.compile(rf"{EMBEDDINGS}|{POOLER}|layer [1-9][0-9]{{0,5}}")
Digest = Annotated[str, Range("a digest, xxh3:…", lambda value: value.startswith("xxh3:"))]
Channel = Annotated[
    str, Range(f"{EMBEDDINGS}, layer 1, … or {POOLER}", lambda value: bool(_CHANNEL.fullmatch(value)))
]


@dataclass(frozen=True, kw_only=True)
class FileEntry:
    """A file of the store, by its name in it, its bytes and their digest."""

    file: Text
    size: Count
    digest: Digest


@dataclass(frozen=True, kw_only=True)
class BlockEntry:
    """A block. `layers` has one digest per channel, so that reading one channel checks only that one."""

    file: Text
    windows: Positive
    tokens: Positive
    size: Count
    digest: Digest
    layers: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class BareBlock:
    """A block that is not kept: the encoder makes it whenever it is read."""

    windows: Positive
    tokens: Positive


AnyBlock = BlockEntry | BareBlock


@dataclass(frozen=True, kw_only=True)
class SplitEntry:
    role: Annotated[str, one_of(*Role)]
    windows: Count
    tokens: Count
    encoded_tokens: Count
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
    parameters: Count  # 0: nobody knows, of arrays
    stage: Text | None = None
    fraction: Number | None = None


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
    tokens: Annotated[str, one_of(*TOKENS)]
    layers: tuple[Channel, ...]
    shape: tuple[Positive, Positive]
    dtype: Annotated[str, one_of(*STORED)]
    format: Annotated[str, one_of(*FORMATS)]
    seed: int
    data: str
    precision: Annotated[str, one_of(*PRECISIONS)] = FLOAT32
    batch_tokens: Count = 0
    splits: dict[str, SplitEntry]
    statistics: FileEntry  # of the stored tokens of its training rows
    baseline: Baseline | None = None

    @property
    def token_bytes(self) -> int:
        return self.shape[0] * self.shape[1] * STORED[self.dtype].itemsize

    @property
    def one_token(self) -> bool:
        """Whether a window has one stored token."""
        return self.tokens != ALL

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
        if type(version) is not int or version != FORMAT_VERSION:
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
                found=repr(error.found),
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
        value = load_json(data.decode("utf-8"))
    except (UnicodeDecodeError, Unreadable) as error:
        raise StoreError(
            "manifest is damaged", where=where, expected="JSON", found=str(error), do=DAMAGED
        ) from error
    if not isinstance(value, dict):
        raise StoreError("manifest is damaged", where=where, expected="a JSON object", do=DAMAGED)
    return value


def _check(manifest: Manifest, where: object) -> None:
    """What types alone do not say: sums that agree, and sizes that follow from each other."""
    for expected, found in _contradictions(manifest):
        raise StoreError("manifest is damaged", where=where, expected=expected, found=found, do=DAMAGED)


def _contradictions(manifest: Manifest) -> Iterator[tuple[object, object]]:
    """What a sound manifest says, and what this one says."""
    count = manifest.shape[0]
    if len(set(manifest.layers)) != count or len(manifest.layers) != count:
        yield f"{count} different layers", ", ".join(manifest.layers)
    if not any(split.role == Role.TRAIN for split in manifest.splits.values()):
        yield "a split of training rows", ", ".join(manifest.splits) or "no split"
    names = [each.file for each in manifest.files()]
    if len(set(names)) < len(names):
        yield "files of different names", next(name for name in names if names.count(name) > 1)
    for name, split in manifest.splits.items():
        if not _NAME.fullmatch(name) or not name.strip("."):
            yield "a split's name: letters, digits, '.', '_' and '-'", repr(name)
        yield from _contradictions_of(manifest, name, split)


def _contradictions_of(manifest: Manifest, name: str, split: SplitEntry) -> Iterator[tuple[object, object]]:
    files = len(split.blocks) if manifest.keeps_blocks else 0
    if len(split.kept) != files:
        found = f"{len(split.kept)} of {len(split.blocks)} blocks with a file"
        yield f"blocks of split {name!r} of format {manifest.format}", found
    sums = sum(block.windows for block in split.blocks), sum(block.tokens for block in split.blocks)
    if sums != (split.windows, split.tokens):
        expected = f"{split.windows} windows and {split.tokens} tokens in blocks of split {name!r}"
        yield expected, f"{sums[0]} and {sums[1]}"
    if split.tokens < split.windows or (manifest.one_token and split.tokens != split.windows):
        least = "one token" if manifest.one_token else "a token or more"
        yield f"{least} a window in split {name!r}", f"{split.tokens} of {split.windows} windows"
    for block in split.kept:
        if len(block.layers) not in (0, manifest.shape[0]) or (manifest.format == "npy" and not block.layers):
            yield f"{manifest.shape[0]} digests of layers of {block.file}", len(block.layers)
        values = block.tokens * manifest.token_bytes
        if not values <= block.size <= 2 * values + SLACK_BYTES:
            yield f"{values} bytes of values, and little more, in {block.file}", block.size
