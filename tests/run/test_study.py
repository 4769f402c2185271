"""What a run set out to do is read strictly."""

import pytest

from bv_search.errors import RunError
from bv_search.run import Run, Study


def test_a_study_of_another_format_or_with_missing_fields_is_one_line(run: Run) -> None:
    value = run.study.to_json()
    with pytest.raises(RunError, match="format version; expected 2; found 1"):
        Study.from_json({**value, "format_version": 1})
    with pytest.raises(RunError, match="lacks fields of a study; found seed, store"):
        Study.from_json({key: item for key, item in value.items() if key not in {"store", "seed"}})
    with pytest.raises(RunError, match="no study has; found colour"):
        Study.from_json({**value, "colour": "red"})
