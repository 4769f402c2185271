"""A model as MLflow serves it: this file is the served code ("models from code"), so nothing is pickled.

The table that comes in has the task's own columns (`question` and `context`, `sentence`, …); the one that
goes out has a `prediction` for every row. The encoder is where the model says, or where BV_ENCODER says.
"""

import os
from typing import Any

import pandas as pd
from mlflow.models import set_model
from mlflow.pyfunc import PythonModel

from bv_search.errors import DataError
from bv_search.model.answer import answer_rows
from bv_search.model.model import Model
from bv_search.tasks.row import Row
from bv_search.tasks.task import Task

ARTIFACT = "model"
ENCODER_VARIABLE = "BV_ENCODER"


class Answerer(PythonModel):
    def load_context(self, context: Any) -> None:
        self._model = Model.from_pretrained(context.artifacts[ARTIFACT])
        self._encoder = self._model.load_encoder(os.environ.get(ENCODER_VARIABLE))

    def predict(self, context: Any, model_input: pd.DataFrame, params: Any = None) -> pd.DataFrame:
        rows = rows_of_table(self._model.task, model_input)
        answers = answer_rows(self._model, self._encoder, rows).rows
        return pd.DataFrame({"prediction": [answer["prediction"] for answer in answers]})


def input_columns(task: Task) -> tuple[str, ...]:
    """The names that a caller uses for a task's texts."""
    return task.layout.columns[-1].texts


def rows_of_table(task: Task, table: pd.DataFrame) -> list[Row]:
    names = input_columns(task)
    missing = [name for name in names if name not in table.columns]
    if missing:
        raise DataError(
            "lacks columns of the task",
            where=task.name,
            expected=", ".join(names),
            found=", ".join(map(str, table.columns)),
        )
    columns = [[_text(value, name, row) for row, value in table[name].items()] for name in names]
    return [
        Row(id=str(number), text_a=texts[0], text_b=texts[1] if len(texts) > 1 else None)
        for number, texts in enumerate(zip(*columns, strict=True))
    ]


def _text(value: object, column: str, row: object) -> str:
    """A missing text comes as None or as a number that is none, and as words either would be answered."""
    if not isinstance(value, str):
        raise DataError(f"the column {column!r} holds no text", where=f"row {row}", found=repr(value)[:60])
    return value


set_model(Answerer())
