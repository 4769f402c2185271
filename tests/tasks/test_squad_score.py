"""Worked by hand from the definition; the comments say how."""

import numpy as np
import pytest

from bv_search.tasks.squad_score import exact, f1, mean_f1, normalise, score_text, span_metrics


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The  Normans", ("normans",)),
        ("an apple, a day; the end.", ("apple", "day", "end")),
        ("U.S.", ("us",)),  # punctuation goes without leaving a space
        ("10th-century", ("10thcentury",)),
        ("Theatre", ("theatre",)),  # an article is a whole word
        ("the", ()),
        ("“Zum Anker”", ("“zum", "anker”")),  # only ASCII punctuation is punctuation
        ("", ()),
    ],
)
def test_normalising_drops_case_punctuation_articles_and_spaces(text: str, words: tuple[str, ...]) -> None:
    assert normalise(text) == words


@pytest.mark.parametrize(
    ("gold", "predicted", "expected"),
    [
        ("Denmark, Iceland and Norway", "denmark iceland and norway", 1.0),
        ("the Seine", "Seine", 1.0),
        ("10th century", "the 10th and 11th centuries", 2 * (1 / 4) * (1 / 2) / (1 / 4 + 1 / 2)),  # 1/3
        ("a b b", "b b b", 1.0 * 2 * 2 / (2 + 3)),  # gold "b b" (a is an article), two shared, 2·2/(2+3)
        ("France", "Germany", 0.0),
        ("France", "", 0.0),
        ("", "", 1.0),
        ("", "France", 0.0),
        ("the", "a", 1.0),  # both are nothing once normalised
    ],
)
def test_f1_counts_shared_words(gold: str, predicted: str, expected: float) -> None:
    assert f1(gold, predicted) == pytest.approx(expected)


def test_exact_compares_what_counts() -> None:
    assert exact("The Seine.", "seine") == 1.0
    assert exact("Seine", "Seine river") == 0.0


def test_the_best_gold_answer_counts() -> None:
    golds = ["in the 10th and 11th centuries", "10th and 11th centuries"]
    assert score_text("10th and 11th centuries", golds) == (1.0, 1.0, 1.0)
    # against "in 10th and 11th centuries" 4 shared of 4 and 5; against the other 4 of 4: exact is of any
    assert score_text("in 10th and 11th centuries", golds) == (1.0, 1.0, 1.0)
    # "10th": 1 shared of 1 and 4 → 2/5 = .4; of 1 and 5 → 2/6: the better one counts
    assert score_text("10th", golds) == pytest.approx((0.0, 0.4, 1.0))


def test_an_unanswerable_question_is_right_only_when_left_unanswered() -> None:
    assert score_text("", []) == (1.0, 1.0, 0.0)
    assert score_text("France", []) == (0.0, 0.0, 0.0)


def test_leaving_an_answerable_question_unanswered_scores_nothing() -> None:
    assert score_text("", ["France"]) == (0.0, 0.0, 1.0)


def test_a_gold_answer_that_normalises_to_nothing_is_scored_as_no_answer() -> None:
    # the official script drops such golds, and compares with "" when none is left; HasAns looks at the file
    assert score_text("", ["the"]) == (1.0, 1.0, 1.0)
    assert score_text("the", ["the", "a"]) == (1.0, 1.0, 1.0)


def test_metrics_split_by_whether_there_is_an_answer() -> None:
    outcome = np.array([[1, 1, 1], [0, 0.5, 1], [1, 1, 0], [0, 0, 0], [0, 0, 0]], dtype=np.float64)
    assert span_metrics(outcome) == {
        "exact": pytest.approx(0.4),
        "f1": pytest.approx(0.5),
        "HasAns_exact": 0.5,
        "HasAns_f1": 0.75,
        "NoAns_exact": pytest.approx(1 / 3),
        "NoAns_f1": pytest.approx(1 / 3),
    }
    assert mean_f1(outcome) == pytest.approx(0.5)


def test_a_kind_of_question_that_does_not_occur_has_no_figure() -> None:
    assert set(span_metrics(np.array([[1.0, 1.0, 0.0]]))) == {"exact", "f1", "NoAns_exact", "NoAns_f1"}
