"""What a served model takes for rows."""

import pandas as pd
import pytest

from bv_search.errors import DataError
from bv_search.model.pyfunc import rows_of_table
from bv_search.tasks.registry import TASKS

SPAN = TASKS["squad2-span"]


def table(*passages: object) -> pd.DataFrame:
    return pd.DataFrame({"question": ["Who?"] * len(passages), "context": list(passages)})


def test_a_table_becomes_rows() -> None:
    rows = rows_of_table(SPAN, table("Ada wrote it.", "nan"))
    assert [(row.id, row.text_a, row.text_b) for row in rows] == [
        ("0", "Who?", "Ada wrote it."),
        ("1", "Who?", "nan"),
    ]


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA, pd.NaT])
def test_a_missing_text_is_refused_with_its_column_and_row(missing: object) -> None:
    with pytest.raises(DataError, match=r"^row 1: the column 'context' holds no text; found \S+$"):
        rows_of_table(SPAN, table("Ada wrote it.", missing))


def test_a_row_is_named_as_its_table_names_it() -> None:
    named = table("Ada wrote it.", None).set_axis(["first", "second"])
    with pytest.raises(DataError, match=r"^row second: "):
        rows_of_table(SPAN, named)


def test_a_missing_column_is_refused() -> None:
    with pytest.raises(DataError, match="lacks columns of the task; expected question, context"):
        rows_of_table(SPAN, table("Ada wrote it.").drop(columns="context"))
