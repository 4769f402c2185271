"""What counts as right, and what a question asks for."""

import numpy as np
import pytest

from bv_search.study.errors import question_word, right_of
from bv_search.tasks.task import Kind


@pytest.mark.parametrize(
    ("question", "word"),
    [
        ("Who wrote it?", "who"),
        ("In what year did it end?", "what"),
        ('"Where" is a word?', "where"),
        ("Name the river.", "other"),
        ("", "other"),
    ],
)
def test_a_question_is_of_its_first_word_that_asks(question: str, word: str) -> None:
    assert question_word(question) == word


def test_right_is_what_each_kind_of_task_says() -> None:
    classes = np.array([[1.0, 1.0], [0.0, 1.0]])
    assert right_of(Kind.CLASSIFICATION, classes).tolist() == [True, False]
    spans = np.array([[1.0, 1.0, 1.0], [0.0, 0.9, 1.0]])
    assert right_of(Kind.SPAN, spans).tolist() == [True, False]
    values = np.array([[0.0, 0.4], [5.0, 5.0], [2.0, 3.0]])  # a tenth of the range is .46
    assert right_of(Kind.REGRESSION, values).tolist() == [True, True, False]
