"""Rows: what a data set holds, before any tokenizer has seen it."""

import json
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import numpy as np
import xxhash


class Role(StrEnum):
    """What a split may be used for; a result is honest only if it comes from `report`."""

    TRAIN = "train"
    SELECT = "select"
    REPORT = "report"


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """A text and the character of the passage where it begins."""

    text: str
    start: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One example: a text or a pair of texts, and its label or answers where they are known.

    Of spans, `text_a` is the question and `text_b` the passage; `answers` is None when nobody has
    labelled the row, and empty when the passage does not answer the question.
    """

    id: str
    text_a: str
    text_b: str | None = None
    group: str = ""  # rows of one group never fall on both sides of a cut
    label: float | None = None
    answers: tuple[Answer, ...] | None = None

    @property
    def labelled(self) -> bool:
        return self.label is not None or self.answers is not None

    @property
    def key(self) -> int:
        """What the row says, as 64 bits: the same wherever the row stands and whatever its id."""
        answers = None if self.answers is None else [(each.text, each.start) for each in self.answers]
        return _digest([self.text_a, self.text_b, self.label, answers])

    @property
    def group_key(self) -> int:
        """Its group, as 64 bits; a row without one is by itself."""
        return _digest(self.group or self.id)


def text_key(*texts: str | None) -> int:
    """What is read, as 64 bits: the same wherever it stands and whatever its label."""
    return _digest(texts)


def _digest(value: object) -> int:
    return int(xxhash.xxh3_64_intdigest(json.dumps(value, ensure_ascii=True).encode()))


@dataclass(frozen=True, kw_only=True)
class Split:
    """Rows that share a role."""

    name: str
    role: Role
    rows: tuple[Row, ...]


@dataclass(frozen=True, kw_only=True)
class Dataset:
    """All splits of a task's data; equal digests mean equal rows in equal order."""

    splits: tuple[Split, ...]
    doubts: tuple[str, ...] = ()  # what to know of the cuts before their scores are believed

    @cached_property
    def digest(self) -> str:
        state = xxhash.xxh3_128()
        for split in self.splits:
            state.update(json.dumps([split.name, split.role, len(split.rows)]).encode())
            state.update("\0".join(row.id for row in split.rows).encode("utf-8", "surrogatepass"))
            state.update(np.array([row.key for row in split.rows], dtype="<u8").tobytes())
        return f"xxh3:{state.hexdigest()}"

    def split(self, name: str) -> Split:
        return next(split for split in self.splits if split.name == name)

    def rows(self, role: Role) -> tuple[Row, ...]:
        """The rows of every split with this role, in the order of the splits."""
        return tuple(row for split in self.splits if split.role is role for row in split.rows)
