"""Classification and regression: one text or a pair of them, one label or value."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bv_search.tasks.evaluation import Counts, Evaluation, Outcome
from bv_search.tasks.metrics import CLASS_METRICS, COUNTED_METRICS, VALUE_METRICS
from bv_search.tasks.passage import cutter, tokenise
from bv_search.tasks.row import Row, text_key
from bv_search.tasks.task import Flags, Kind, Lengths, Logits, Numbers, Task, row_codes, whole_below
from bv_search.tasks.window import Ints, Tokenizer, WindowRows, flat_column, require_fast

BATCH = 4096  # rows handed to the tokenizer at once


@dataclass(frozen=True, kw_only=True)
class OneWindowTask(Task):
    """What classification and regression share: a row is one window, too long a text is cut."""

    per_token: ClassVar[bool] = False
    suffix: ClassVar[str] = ".jsonl"
    model_class: ClassVar[str] = "AutoModelForSequenceClassification"
    model_outputs: ClassVar[tuple[str, ...]] = ("logits",)

    def windows(self, rows: Sequence[Row], tokenizer: Tokenizer) -> pa.Table:
        require_fast(tokenizer)
        table = WindowRows()
        cut = self._cut_passages if self.layout.answers else self._cut_texts
        table.token_ids, table.type_ids = cut(rows, tokenizer)
        table.ids = [f"{row.id}#0" for row in rows]
        table.rows = [row.id for row in rows]
        table.keys = [row.key for row in rows]
        table.groups = [row.group_key for row in rows]
        table.texts = [text_key(row.text_a, row.text_b) for row in rows]
        table.labels = [[] if row.label is None else [row.label] for row in rows]
        return table.table()

    def _cut_passages(self, rows: Sequence[Row], tokenizer: Tokenizer) -> tuple[list[Ints], list[Ints]]:
        """A question keeps its words; only its passage is cut."""
        cut = cutter(tokenizer, self.max_length).cut
        tokens = tokenise((text for row in rows for text in (row.text_a, row.text_b or "")), tokenizer)
        windows = [next(cut(tokens[row.text_a], tokens[row.text_b or ""])) for row in rows]
        return [each.token_ids for each in windows], [each.type_ids for each in windows]

    def _cut_texts(self, rows: Sequence[Row], tokenizer: Tokenizer) -> tuple[list[Ints], list[Ints]]:
        token_ids: list[Ints] = []
        type_ids: list[Ints] = []
        paired = any(row.text_b is not None for row in rows)
        for first in range(0, len(rows), BATCH):
            batch = rows[first : first + BATCH]
            encoded = tokenizer(
                [row.text_a for row in batch],
                [row.text_b or "" for row in batch] if paired else None,
                truncation=True,
                max_length=min(self.max_length, tokenizer.model_max_length),
                return_attention_mask=False,
                return_token_type_ids=True,
            )
            token_ids += [np.array(ids, dtype=np.int32) for ids in encoded["input_ids"]]
            type_ids += [np.array(ids, dtype=np.int32) for ids in encoded["token_type_ids"]]
        return token_ids, type_ids

    def labelled(self, index: pa.Table) -> bool:
        return bool(len(flat_column(index, "label")) == index.num_rows)

    def _logits_of_rows(
        self, index: pa.Table, logits: Sequence[Logits]
    ) -> tuple[tuple[str, ...], npt.NDArray[np.float32]]:
        codes, rows = row_codes(index)
        assert len(rows) == len(codes) == len(logits), "one window and one array of logits per row"
        logits_RC = np.array(logits, dtype=np.float32).reshape(len(rows), -1)
        assert logits_RC.shape[1] == self.outputs, f"{self.outputs} logits per row"
        return rows, logits_RC


@dataclass(frozen=True, kw_only=True)
class ClassificationTask(OneWindowTask):
    """The class with the highest logit. Of several evaluation splits (MNLI) the score is the mean."""

    kind: ClassVar[Kind] = Kind.CLASSIFICATION
    prediction_type: ClassVar[str] = "string"
    majority: ClassVar[str] = "majority"

    @property
    def outputs(self) -> int:
        return len(self.labels)

    @property
    def model_settings(self) -> dict[str, Any]:
        return {
            "num_labels": self.outputs,
            "id2label": dict(enumerate(self.labels)),
            "label2id": {label: number for number, label in enumerate(self.labels)},
            "problem_type": "single_label_classification",
        }

    def sound_labels(self, values: Numbers, lengths_N: Lengths) -> Flags:
        return whole_below(values, self.outputs)

    @property
    def sound(self) -> str:
        return f"labels from 0 to {self.outputs - 1}"

    def evaluate(self, index: pa.Table, logits: Sequence[Logits]) -> Evaluation:
        self._require_labels(index)
        rows, logits_RC = self._logits_of_rows(index, logits)
        parts = self._parts(rows)
        columns = (logits_RC.argmax(axis=1), flat_column(index, "label"), parts)
        outcome = np.stack(columns, axis=1).astype(np.float64)
        score_of = partial(mean_over_parts, self.metric)
        metrics = {self.metric: score_of(outcome)}
        metrics |= {name: CLASS_METRICS[name](outcome) for name in self.metrics}
        for number, split in enumerate(self.layout.report):
            if len(self.layout.report) > 1 and np.any(parts == number):
                metrics[f"{self.metric}_{split}"] = CLASS_METRICS[self.metric](outcome[parts == number])
        is_mean = self.metric == "accuracy" and len(self.layout.report) == 1
        return Evaluation(
            rows=rows,
            groups=index["group"].to_numpy(),
            outcome=outcome,
            metrics=metrics,
            score=metrics[self.metric],
            score_of=score_of,
            mean_of=(outcome[:, 0] == outcome[:, 1]).astype(np.float64) if is_mean else None,
            counted=partial(counted_over_parts, self.metric),
        )

    def _parts(self, rows: Sequence[str]) -> Ints:
        """Which evaluation split each row is of, read off its id; -1 for none of several."""
        splits = self.layout.report
        if len(splits) == 1:
            return np.zeros(len(rows), dtype=np.int32)
        names = {split: number for number, split in enumerate(splits)}
        return np.array([names.get(row.rpartition("-")[0], -1) for row in rows], dtype=np.int32)

    def answers(self, index: pa.Table, logits: Sequence[Logits]) -> list[dict[str, Any]]:
        rows, logits_RC = self._logits_of_rows(index, logits)
        weights = np.exp(logits_RC - logits_RC.max(axis=1, keepdims=True))
        shares_RC = weights / weights.sum(axis=1, keepdims=True)
        return [
            {
                "id": row,
                "prediction": self.labels[int(best)],
                "probabilities": dict(zip(self.labels, map(float, shares), strict=True)),
            }
            for row, best, shares in zip(rows, logits_RC.argmax(axis=1), shares_RC, strict=True)
        ]


def counted_over_parts(metric: str, outcome: Outcome) -> Callable[[Counts], float]:
    """The same of a sample, which may lack a part."""
    parts = [outcome[:, 2] == part for part in np.unique(outcome[:, 2])]
    scores = [COUNTED_METRICS[metric](outcome[part]) for part in parts]

    def mean(times_R: Counts) -> float:
        taken = [times_R[part] for part in parts]
        return float(np.mean([score(own) for score, own in zip(scores, taken, strict=True) if own.any()]))

    return mean


def mean_over_parts(metric: str, outcome: Outcome) -> float:
    """The mean of the metric over the parts that column 2 tells apart."""
    parts = outcome[:, 2]
    if not len(parts) or parts.min() == parts.max():
        return CLASS_METRICS[metric](outcome)
    return float(np.mean([CLASS_METRICS[metric](outcome[parts == part]) for part in np.unique(parts)]))


@dataclass(frozen=True, kw_only=True)
class RegressionTask(OneWindowTask):
    """One number per row."""

    kind: ClassVar[Kind] = Kind.REGRESSION
    is_number: ClassVar[bool] = True
    prediction_type: ClassVar[str] = "double"
    majority: ClassVar[str] = "mean"

    @property
    def outputs(self) -> int:
        return 1

    @property
    def model_settings(self) -> dict[str, Any]:
        return {"num_labels": self.outputs, "problem_type": "regression"}

    def sound_labels(self, values: Numbers, lengths_N: Lengths) -> Flags:
        finite: Flags = np.isfinite(values)
        return finite

    @property
    def sound(self) -> str:
        return "finite values"

    def evaluate(self, index: pa.Table, logits: Sequence[Logits]) -> Evaluation:
        self._require_labels(index)
        rows, logits_R1 = self._logits_of_rows(index, logits)
        outcome = np.stack((logits_R1[:, 0], flat_column(index, "label")), axis=1).astype(np.float64)
        score_of = VALUE_METRICS[self.metric]
        metrics = {name: VALUE_METRICS[name](outcome) for name in (self.metric, *self.metrics)}
        return Evaluation(
            rows=rows,
            groups=index["group"].to_numpy(),
            outcome=outcome,
            metrics=metrics,
            score=metrics[self.metric],
            score_of=score_of,
            counted=COUNTED_METRICS[self.metric],
        )

    def answers(self, index: pa.Table, logits: Sequence[Logits]) -> list[dict[str, Any]]:
        rows, logits_R1 = self._logits_of_rows(index, logits)
        return [
            {"id": row, "prediction": float(value)} for row, value in zip(rows, logits_R1[:, 0], strict=True)
        ]
