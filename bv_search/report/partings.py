"""Rows to read: where the best head is right and the encoder is wrong, and the other way round.

Values are never just right: of a regression, rows are shown where one is much nearer to the truth.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bv_search.model.standings import BEST, Standing
from bv_search.report.facts import Facts
from bv_search.scan.ladder import ENCODER, PROBE
from bv_search.tasks.row import Row
from bv_search.tasks.squad_score import EXACT
from bv_search.tasks.task import Kind, row_codes

MOST = 8  # rows of each side
AROUND = 160  # characters of a passage on either side of an answer
LONGEST = 600  # characters of a text
SILENCE = "no answer"

Places = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Excerpt:
    """A part of a text, and in its middle what is to be seen."""

    before: str
    marked: str
    after: str


@dataclass(frozen=True, kw_only=True)
class RowToRead:
    id: str
    texts: Sequence[str]  # of the row, where the data is at hand
    excerpt: Excerpt | None  # of the passage, which a store of spans keeps
    gold: str
    ours: str  # what the head says
    theirs: str


@dataclass(frozen=True, kw_only=True)
class Side:
    title: str
    total: int | None  # rows; None where there is no telling right from wrong
    rows: Sequence[RowToRead]


@dataclass(frozen=True, kw_only=True)
class Partings:
    other: str  # whom the best head is compared with
    sides: Sequence[Side]


def find_partings(facts: Facts, rows: Mapping[str, Row] | None) -> Partings | None:
    """None where there is nobody to part ways with. `rows` are those of report by their ids, if at hand."""
    head, other = facts.standing(BEST), facts.standing(ENCODER) or facts.standing(PROBE)
    if head is None or other is None or other.trial == head.trial:
        return None
    reader = _Reader(facts, head, other, rows or {})
    if facts.task.kind is Kind.REGRESSION:
        lead = _error(other) - _error(head)
        places = [_lowest(way * lead) for way in (-1, 1)]
        totals: list[int | None] = [None, None]
        word = "Much nearer by"
    else:
        ours, theirs = (_right(facts.task.kind, model) for model in (head, other))
        apart = [np.flatnonzero(ours & ~theirs), np.flatnonzero(theirs & ~ours)]
        places, totals = [_spread(each) for each in apart], [len(each) for each in apart]
        word = "Right only by"
    return Partings(
        other=other.title,
        sides=[
            Side(title=f"{word} the {model.title}", total=total, rows=[reader.read(place) for place in some])
            for model, total, some in zip((head, other), totals, places, strict=True)
        ],
    )


def _lowest(values: np.ndarray) -> Places:
    """Of those below zero."""
    places = np.argsort(values, kind="stable")[:MOST]
    return np.asarray(places[values[places] < 0])


def _spread(places: Places) -> Places:
    """Neighbours in a file are alike."""
    return np.asarray(places[np.linspace(0, len(places) - 1, min(MOST, len(places))).astype(np.int64)])


def _right(kind: Kind, standing: Standing) -> npt.NDArray[np.bool_]:
    outcome = standing.evaluation.outcome
    if kind is Kind.SPAN:
        return np.asarray(outcome[:, EXACT] == 1.0)
    return np.asarray(outcome[:, 0] == outcome[:, 1])


def _error(standing: Standing) -> npt.NDArray[np.float64]:
    outcome = standing.evaluation.outcome
    return np.asarray(np.abs(outcome[:, 0] - outcome[:, 1]))


class _Reader:
    """Makes rows readable: by their place among those that are evaluated."""

    def __init__(self, facts: Facts, head: Standing, other: Standing, rows: Mapping[str, Row]) -> None:
        self._task, self._index, self._rows = facts.task, facts.index, rows
        self._models = (head, other)
        self._ids = head.evaluation.rows
        self._gold = head.evaluation.outcome[:, 1]
        self._row_of, _ = row_codes(facts.index)  # of each window

    def read(self, place: int) -> RowToRead:
        name, windows = self._ids[place], np.flatnonzero(self._row_of == place)
        ours, theirs = (self._answer(model, windows) for model in self._models)
        golds, excerpt = [self._gold_of(place)], None
        if self._task.kind is Kind.SPAN:
            (window,) = self._index.slice(windows[0], 1).to_pylist()
            golds = list(dict.fromkeys(window["golds"]))
            excerpt = excerpt_of(window["passage"], [*golds, ours["prediction"], theirs["prediction"]])
        return RowToRead(
            id=name,
            texts=self._texts(name),
            excerpt=excerpt,
            gold=" / ".join(golds) or SILENCE,
            ours=self._words(ours),
            theirs=self._words(theirs),
        )

    def _answer(self, model: Standing, windows: Places) -> Mapping[str, Any]:
        """To one row alone: of a thousand labels, the probabilities of all rows would fill the memory."""
        (answer,) = self._task.answers(self._index.take(windows), [model.logits[each] for each in windows])
        return answer

    def _texts(self, name: str) -> list[str]:
        """Of a span the question alone: its passage is an excerpt."""
        row = self._rows.get(name)
        if row is None:
            return []
        texts = [row.text_a] if self._task.kind is Kind.SPAN else [row.text_a, row.text_b]
        return [shorten(text, LONGEST) for text in texts if text]

    def _gold_of(self, place: int) -> str:
        gold = self._gold[place]
        return self._task.labels[int(gold)] if self._task.kind is Kind.CLASSIFICATION else f"{gold:.2f}"

    def _words(self, said: Mapping[str, Any]) -> str:
        prediction = said["prediction"]
        if self._task.kind is Kind.CLASSIFICATION:
            return f"{prediction} ({said['probabilities'][prediction]:.2f})"
        return f"{prediction:.2f}" if self._task.kind is Kind.REGRESSION else prediction or SILENCE


def excerpt_of(passage: str, answers: Sequence[str]) -> Excerpt:
    """Around the first of the answers that stands in it; its beginning, where none does."""
    for answer in answers:
        if answer and (start := passage.find(answer)) >= 0:
            end = start + len(answer)
            before, after = passage[max(0, start - AROUND) : start], passage[end : end + AROUND]
            return Excerpt(
                before=("… " if start > AROUND else "") + before,
                marked=answer,
                after=after + (" …" if end + AROUND < len(passage) else ""),
            )
    return Excerpt(before=shorten(passage, 2 * AROUND), marked="", after="")


def shorten(text: str, most: int) -> str:
    """Its beginning. Not every language has spaces to cut at."""
    plain = " ".join(text.split())
    return plain if len(plain) <= most else f"{plain[:most].rstrip()} …"
