"""Tasks: what is learned. A task turns rows into windows and labels, and logits into answers and figures."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bv_search.errors import DataError
from bv_search.tasks.evaluation import Evaluation
from bv_search.tasks.layout import Layout, layout_to_json
from bv_search.tasks.row import Row
from bv_search.tasks.window import Tokenizer

Logits = npt.NDArray[np.float32]
Numbers = npt.NDArray[np.floating[Any]]
Lengths = npt.NDArray[np.integer[Any]]
Flags = npt.NDArray[np.bool_]


class Kind(StrEnum):
    SPAN = "span"
    CLASSIFICATION = "classification"
    REGRESSION = "regression"


@dataclass(frozen=True, kw_only=True)
class Placement:
    """How many answers there are to learn, and how many of them no window holds whole."""

    answers: int = 0
    lost: int = 0

    def __add__(self, other: "Placement") -> "Placement":
        return Placement(answers=self.answers + other.answers, lost=self.lost + other.lost)

    @property
    def doubt(self) -> str | None:
        """A word on what is lost, if anything is."""
        if not self.lost:
            return None
        found = f"{self.lost:,} of {self.answers:,} answers could not be placed in any window"
        return f"{found}: training takes them for none."


@dataclass(frozen=True, kw_only=True)
class Task(ABC):
    """One kind of question asked of an encoder, and how its answers are judged.

    `index` is a table with the columns of WINDOW_SCHEMA; `logits[i]` belongs to its window i:
    (tokens, 2) for spans, (outputs,) otherwise. Whatever the order of the windows, what comes back
    has one entry per row, in the order in which the rows first appear. Higher scores are better.
    """

    kind: ClassVar[Kind]
    per_token: ClassVar[bool]  # whether logits belong to each token, or to a window as a whole
    is_number: ClassVar[bool] = False  # an answer, and no text: two are compared by how far they are apart
    suffix: ClassVar[str]  # of a file of answers
    prediction_type: ClassVar[str]  # of an answer, as MLflow calls it
    majority: ClassVar[str]  # what the best answer that looks at no row is called
    model_class: ClassVar[str]  # of transformers, to fine-tune an encoder on it …
    model_outputs: ClassVar[tuple[str, ...]]  # … and what that model calls its logits, one column each or all

    name: str
    metric: str  # the name of the score among the metrics
    max_length: int  # tokens of a window
    layout: Layout
    labels: tuple[str, ...] = ()  # names of the classes
    metrics: tuple[str, ...] = ()  # figures beside the score
    stride: int = 0  # tokens that neighbouring windows of one passage share

    @property
    @abstractmethod
    def outputs(self) -> int:
        """Numbers that a head puts out, per token for spans, per row otherwise."""

    @abstractmethod
    def windows(self, rows: Sequence[Row], tokenizer: Tokenizer) -> pa.Table:
        """The windows of the rows, in the order of the rows, by WINDOW_SCHEMA."""

    @abstractmethod
    def evaluate(self, index: pa.Table, logits: Sequence[Logits]) -> Evaluation:
        """How right the logits are; every window needs its label."""

    @abstractmethod
    def answers(self, index: pa.Table, logits: Sequence[Logits]) -> list[dict[str, Any]]:
        """What the logits say, one {"id", "prediction", …} per row; no label is looked at."""

    @abstractmethod
    def labelled(self, index: pa.Table) -> bool:
        """Whether every window has a label, so that it can be evaluated."""

    @abstractmethod
    def sound_labels(self, values: Numbers, lengths_N: Lengths) -> Flags:
        """Which of the numbers of all labels can be meant, in windows of these lengths."""

    @property
    @abstractmethod
    def sound(self) -> str:
        """The same in words."""

    @property
    def label_size(self) -> int:
        """Numbers of a label."""
        return self.outputs if self.per_token else 1

    @property
    def model_settings(self) -> dict[str, Any]:
        """What is set in the config of such a model."""
        return {"num_labels": self.outputs}

    def unpadded(self, logits: Logits, length: int) -> Logits:
        """One window's logits out of a padded batch."""
        return logits[:length] if self.per_token else logits

    def unflattened(self, flat: Sequence[Logits]) -> list[Logits]:
        """Every window's logits, from a row of numbers each."""
        return [each.reshape(-1, self.outputs) if self.per_token else each for each in flat]

    def logit_counts(self, lengths_N: Lengths) -> Lengths:
        """Numbers in every window's logits."""
        return lengths_N * self.outputs if self.per_token else np.full_like(lengths_N, self.outputs)

    def placement(self, index: pa.Table) -> Placement:
        """What became of the answers in labelled windows; only spans have any to place."""
        return Placement()

    def to_json(self) -> dict[str, Any]:
        """Enough to build the same task elsewhere, with `task_from_json`."""
        return {
            "name": self.name,
            "kind": str(self.kind),
            "labels": list(self.labels),
            "metric": self.metric,
            "metrics": list(self.metrics),
            "max_length": self.max_length,
            "stride": self.stride,
            "layout": layout_to_json(self.layout),
        }

    def _require_labels(self, index: pa.Table) -> None:
        if not self.labelled(index):
            raise DataError("some rows have no label, so there is nothing to score", where=self.name)
        assert index.num_rows > 0, "nothing to score"


def whole_below(values: Numbers, limit: int | Lengths) -> Flags:
    """Which values are whole numbers from 0 to below a limit."""
    whole: Flags = np.isfinite(values) & (values >= 0) & (values < limit) & (values == np.floor(values))
    return whole


def row_codes(index: pa.Table) -> tuple[npt.NDArray[np.int64], tuple[str, ...]]:
    """For every window the number of its row, and the rows in order of first appearance."""
    encoded = index["row"].combine_chunks().dictionary_encode()
    return encoded.indices.to_numpy().astype(np.int64), tuple(encoded.dictionary.to_pylist())
