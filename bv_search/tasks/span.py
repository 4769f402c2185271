"""Span tasks: where in a passage the answer to a question stands, or that it does not.

Shapes: T tokens of several windows back to back, R rows.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from bv_search.tasks.evaluation import Evaluation
from bv_search.tasks.passage import Tokens, Window, cutter, tokenise
from bv_search.tasks.row import Row, text_key
from bv_search.tasks.squad_score import F1, mean_f1, score_text, span_metrics
from bv_search.tasks.task import (
    Flags,
    Kind,
    Lengths,
    Logits,
    Numbers,
    Placement,
    Task,
    row_codes,
    whole_below,
)
from bv_search.tasks.window import Tokenizer, WindowRows, flat_column

LONGEST_ANSWER = 30  # tokens
NO_ANSWER = [0.0, 0.0]  # both ends on the first token

Floats = npt.NDArray[np.float32]
Places = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class SpanTask(Task):
    """A window that lacks the answer says "none"; a row says "none" when all its windows prefer that."""

    kind: ClassVar[Kind] = Kind.SPAN
    per_token: ClassVar[bool] = True
    suffix: ClassVar[str] = ".json"  # as SQuAD's official script reads it
    prediction_type: ClassVar[str] = "string"
    majority: ClassVar[str] = "majority"
    model_class: ClassVar[str] = "AutoModelForQuestionAnswering"
    model_outputs: ClassVar[tuple[str, ...]] = ("start_logits", "end_logits")

    @property
    def outputs(self) -> int:
        return 2

    def windows(self, rows: Sequence[Row], tokenizer: Tokenizer) -> pa.Table:
        cut = cutter(tokenizer, self.max_length, self.stride).cut
        questions = tokenise((row.text_a for row in rows), tokenizer)
        passages = tokenise((row.text_b or "" for row in rows), tokenizer)
        table = WindowRows()
        for row in rows:
            passage = row.text_b or ""
            golds = None if row.answers is None else [answer.text for answer in row.answers]
            answer = answer_tokens(row, passages[passage])
            key, group, text = row.key, row.group_key, text_key(passage)
            for number, window in enumerate(cut(questions[row.text_a], passages[passage])):
                table.ids.append(f"{row.id}#{number}")
                table.rows.append(row.id)
                table.keys.append(key)
                table.groups.append(group)
                table.texts.append(text)
                table.token_ids.append(window.token_ids)
                table.type_ids.append(window.type_ids)
                table.starts.append(window.starts)
                table.ends.append(window.ends)
                table.labels.append(label_of(row, answer, window))
                table.passages.append(passage)
                table.golds.append(golds)
        return table.table()

    def labelled(self, index: pa.Table) -> bool:
        return bool(index["golds"].null_count == 0)

    def sound_labels(self, values: Numbers, lengths_N: Lengths) -> Flags:
        return whole_below(values, np.repeat(lengths_N, self.label_size))

    @property
    def sound(self) -> str:
        return "labels that are tokens of their windows"

    def placement(self, index: pa.Table) -> Placement:
        assert self.labelled(index), "of answers that are known"
        codes_W, _ = row_codes(index)
        has_answer_W = pc.list_value_length(index["golds"]).to_numpy() > 0
        has_place_W = flat_column(index, "label").reshape(-1, 2)[:, 1] > 0
        answers, placed = set(codes_W[has_answer_W]), set(codes_W[has_place_W])
        return Placement(answers=len(answers), lost=len(answers - placed))

    def evaluate(self, index: pa.Table, logits: Sequence[Logits]) -> Evaluation:
        self._require_labels(index)
        best = best_spans(index, logits)
        golds = index["golds"].combine_chunks().take(pa.array(best.first_window)).to_pylist()
        scored = [score_text(text, each) for text, each in zip(best.texts(index), golds, strict=True)]
        outcome = np.array(scored, dtype=np.float64).reshape(-1, 3)
        metrics = span_metrics(outcome)
        return Evaluation(
            rows=best.rows,
            groups=index["group"].to_numpy()[best.first_window],
            outcome=outcome,
            metrics=metrics,
            score=metrics[self.metric],
            score_of=mean_f1,
            mean_of=outcome[:, F1],
        )

    def answers(self, index: pa.Table, logits: Sequence[Logits]) -> list[dict[str, Any]]:
        best = best_spans(index, logits)
        return [
            {
                "id": row,
                "prediction": text,
                "start": int(best.start[number]) if text else None,
                "score": _finite(best.score[number]),
                "no_answer": _finite(best.null[number]),
            }
            for number, (row, text) in enumerate(zip(best.rows, best.texts(index), strict=True))
        ]


def answer_tokens(row: Row, passage: Tokens) -> range:
    """The tokens of the row's first answer; of what the tokenizer drops at its edges, those next to it."""
    if not row.answers:
        return range(0)
    text, start = row.answers[0].text, row.answers[0].start
    first = start + len(text) - len(text.lstrip())
    return passage.touching(first, first + len(text.strip()))


def label_of(row: Row, answer: range, window: Window) -> list[float]:
    """The first and last token of the answer in this window; [] for a row without a label."""
    if row.answers is None:
        return []
    place = window.place(answer)
    return NO_ANSWER if place is None else [float(token) for token in place]


@dataclass(frozen=True, kw_only=True)
class BestSpans:
    """The best span of every row over all its windows, and the score of there being none."""

    rows: tuple[str, ...]
    first_window: Places
    window: Places  # where the best span stands
    start: Places  # its characters in the passage
    end: Places
    score: Floats  # -inf where a row has no passage
    null: Floats

    def texts(self, index: pa.Table) -> list[str]:
        """The answer of every row, empty where no answer scores at least as well as the best span."""
        answered = self.score > self.null
        return [text if yes else "" for text, yes in zip(self.spans(index), answered, strict=True)]

    def spans(self, index: pa.Table) -> list[str]:
        """The best span of every row, whether or not it is the answer."""
        places = zip(_passages(index, self.window), self.start, self.end, strict=True)
        return [passage[start:end] for passage, start, end in places]


def best_spans(
    index: pa.Table, logits: Sequence[Logits], *, other_than: Sequence[str] | None = None
) -> BestSpans:
    """Every start with every end up to 30 tokens on, for all windows of all rows at once.

    No threshold is tuned: "no answer" is the score of the first token, at its lowest over the windows.
    With `other_than`, one text a row, spans of that text are left out, wherever it stands.
    """
    codes_W, rows = row_codes(index)
    lengths_W = index["length"].to_numpy()
    flat_T2 = np.concatenate(logits, dtype=np.float32) if logits else np.zeros((0, 2), np.float32)
    assert len(logits) == len(lengths_W), "one array of logits per window"
    assert flat_T2.shape == (lengths_W.sum(), 2), "two logits per token of every window"
    flat_T2 = np.where(np.isnan(flat_T2), np.float32(-np.inf), flat_T2)  # what is no number, wins nothing
    null = np.full(len(rows), np.inf, dtype=np.float32)
    first_T = np.cumsum(lengths_W) - lengths_W
    np.minimum.at(null, codes_W, flat_T2[first_T].sum(axis=1))

    starts_T = flat_column(index, "starts")
    inside = np.flatnonzero(starts_T >= 0)
    window_P = np.repeat(np.arange(len(lengths_W)), lengths_W)[inside]  # P: passage tokens only
    starts_P, ends_P = starts_T[inside], flat_column(index, "ends")[inside]
    first_window = np.unique(codes_W, return_index=True)[1]
    barred_P = None
    if other_than is not None:
        passages = _passages(index, first_window)
        barred_P = _barred_ends(passages, other_than, codes_W[window_P], starts_P)
    score_P, last_P = _best_ends(flat_T2[inside], window_P, ends_P, barred_P)
    chosen = _argmax_by_row(score_P, codes_W[window_P], len(rows))
    found = chosen >= 0
    chosen_found = chosen[found]

    window, score = first_window.copy(), np.full(len(rows), -np.inf, dtype=np.float32)
    start, end = np.zeros(len(rows), dtype=np.int64), np.zeros(len(rows), dtype=np.int64)
    window[found], score[found] = window_P[chosen_found], score_P[chosen_found]
    start[found] = starts_P[chosen_found]
    end[found] = ends_P[last_P[chosen_found]]
    return BestSpans(
        rows=rows, first_window=first_window, window=window, start=start, end=end, score=score, null=null
    )


def _passages(index: pa.Table, windows: Places) -> list[str]:
    passages: list[str] = index["passage"].combine_chunks().take(pa.array(windows)).to_pylist()
    return passages


def _barred_ends(passages: Sequence[str], texts: Sequence[str], row_P: Places, starts_P: Places) -> Places:
    """For every start the character where its row's text would end, or -1 where it does not begin there."""
    width = 1 + max(map(len, passages))
    begins = [
        row * width + match.start()
        for row, (text, passage) in enumerate(zip(texts, passages, strict=True))
        if text
        for match in re.finditer(f"(?={re.escape(text)})", passage)
    ]
    lengths_R = np.array([len(text) for text in texts], dtype=np.int64)
    begins_P = np.isin(row_P * width + starts_P, np.array(begins, dtype=np.int64))
    return np.where(begins_P, starts_P + lengths_R[row_P], -1)


def _best_ends(
    logits_P2: Floats, window_P: Places, ends_P: Places, barred_P: Places | None
) -> tuple[Floats, Places]:
    """For every start the score and place of its best end, which is not barred; both stay in one window."""
    start_P, end_P = logits_P2[:, 0].copy(), logits_P2[:, 1].copy()
    count = len(start_P)
    best_P = np.full(count, -np.inf, dtype=np.float32)
    last_P = np.arange(count)
    for distance in range(min(LONGEST_ANSWER, count)):
        upto = count - distance
        better = (end_P[distance:] > best_P[:upto]) & (window_P[distance:] == window_P[:upto])
        if barred_P is not None:
            better &= ends_P[distance:] != barred_P[:upto]
        places = np.flatnonzero(better)
        best_P[places] = end_P[places + distance]
        last_P[places] = places + distance
    return start_P + best_P, last_P


def _argmax_by_row(score_P: Floats, code_P: Places, rows: int) -> Places:
    """The first place of every row's best score, or -1."""
    best = np.full(rows, -np.inf, dtype=np.float32)
    np.maximum.at(best, code_P, score_P)
    hits = np.flatnonzero((score_P == best[code_P]) & (score_P > -np.inf))
    codes, first = np.unique(code_P[hits], return_index=True)
    chosen = np.full(rows, -1, dtype=np.int64)
    chosen[codes] = hits[first]
    return chosen


def _finite(value: np.floating[Any]) -> float | None:
    return float(value) if np.isfinite(value) else None
