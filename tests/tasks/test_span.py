from collections.abc import Callable
from copy import deepcopy
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tokenizers.normalizers import Replace, Sequence

from bv_search.errors import DataError
from bv_search.tasks import TASKS, Row
from bv_search.tasks.span import LONGEST_ANSWER, SpanTask, best_spans
from bv_search.tasks.task import Placement

SPAN = TASKS["squad2-span"]
PASSAGE = "The museum of Arkel was founded in 1887 by the painter Ysolde Brandt, near the old harbour."

Ask = Callable[..., Row]


@pytest.fixture(scope="module")
def quoteless(wordpiece: Any) -> Any:
    """Drops typographic quotes, as others drop accents and signs without width."""
    copy = deepcopy(wordpiece)
    drop = [Replace("“", ""), Replace("”", "")]
    copy.backend_tokenizer.normalizer = Sequence([*drop, wordpiece.backend_tokenizer.normalizer])
    return copy


def short_windows(max_length: int, stride: int) -> SpanTask:
    return SpanTask(name="short", metric="f1", max_length=max_length, stride=stride, layout=SPAN.layout)


def flat_logits(index: pa.Table) -> list[np.ndarray]:
    return [np.zeros((length, 2), np.float32) for length in index["length"].to_pylist()]


def text_at(window: dict[str, Any], first: float, last: float) -> str:
    return str(window["passage"][window["starts"][int(first)] : window["ends"][int(last)]])


@pytest.mark.parametrize("answer", ["1887", "Ysolde Brandt", "The", "harbour.", "Ysolde Brandt, near"])
def test_the_label_marks_the_answer(ask: Ask, wordpiece: Any, answer: str) -> None:
    window = SPAN.windows([ask("When?", PASSAGE, answer)], wordpiece).to_pylist()[0]
    assert text_at(window, *window["label"]) == answer


def test_a_label_inside_a_token_marks_that_token(ask: Ask, byte_pairs: Any) -> None:
    row = ask("When?", "It rose in the 1880s.", "188")
    window = SPAN.windows([row], byte_pairs).to_pylist()[0]
    assert "188" in text_at(window, *window["label"])


def test_spaces_around_an_answer_do_not_move_its_label(ask: Ask, wordpiece: Any) -> None:
    window = SPAN.windows([ask("When?", PASSAGE, " 1887 ")], wordpiece).to_pylist()[0]
    assert text_at(window, *window["label"]) == "1887"
    assert window["golds"] == [" 1887 "]


@pytest.mark.parametrize(
    ("answer", "marked"),
    [
        ("Beyonce\u0301", "Beyonce"),  # an accent of its own, as NFD has it
        ("\u200bBeyonce\u0301\u200b", "Beyonce"),
        ("“Beyonce\u0301”", "Beyonce"),
        ("\u200ba star\u200b", "a star"),
    ],
)
@pytest.mark.parametrize("max_length", [40, 386])
def test_what_a_tokenizer_drops_at_its_edges_does_not_lose_an_answer(
    ask: Ask, quoteless: Any, answer: str, marked: str, max_length: int
) -> None:
    passage = "It was “Beyonce\u0301” who, \u200bBeyonce\u0301\u200b, became \u200ba star\u200b of the time."
    windows = short_windows(max_length, 15).windows([ask("Who?", passage, answer)], quoteless)
    found = {text_at(window, *window["label"]) for window in windows.to_pylist() if window["label"][1]}
    assert found == {marked}
    assert SPAN.placement(windows) == Placement(answers=1, lost=0)


def test_answers_that_no_window_holds_are_counted(ask: Ask, wordpiece: Any) -> None:
    task = short_windows(20, 5)
    rows = [
        ask("When?", PASSAGE * 2, "1887", id="short"),
        ask("What?", PASSAGE * 2, PASSAGE, id="longer than a window"),
        ask("Which?", PASSAGE + "\u200b", "\u200b", id="of nothing that is kept"),
        ask("Why?", PASSAGE, id="none"),
    ]
    placement = task.placement(task.windows(rows, wordpiece))
    assert placement == Placement(answers=3, lost=2)
    assert (
        placement.doubt == "2 of 3 answers could not be placed in any window: training takes them for none."
    )
    assert task.placement(task.windows(rows[:1], wordpiece)).doubt is None


@pytest.mark.parametrize("max_length", range(12, 32))
def test_a_window_without_the_whole_answer_says_none(ask: Ask, wordpiece: Any, max_length: int) -> None:
    """Windows of many lengths begin and end before, within and after the answer."""
    answer = "the painter Ysolde Brandt"
    task = short_windows(max_length, max_length // 3)
    windows = task.windows([ask("When?", PASSAGE * 2, answer)], wordpiece).to_pylist()
    first = PASSAGE.index(answer)
    for window in windows:
        covered = [start for start in window["starts"] if start >= 0]
        if min(covered) <= first and max(window["ends"]) >= first + len(answer):
            assert text_at(window, *window["label"]) == answer
        else:
            assert window["label"] == [0.0, 0.0]
    assert [0.0, 0.0] in [window["label"] for window in windows]


def test_unanswerable_and_unlabelled_rows_differ(ask: Ask, wordpiece: Any) -> None:
    nobody_knows = Row(id="u", text_a="Who?", text_b=PASSAGE)
    windows = SPAN.windows([ask("Who?", PASSAGE), nobody_knows], wordpiece).to_pylist()
    assert [(window["label"], window["golds"]) for window in windows] == [([0.0, 0.0], []), ([], None)]


def brute_force(
    window: dict[str, Any], logits: np.ndarray, other_than: str | None = None
) -> tuple[float, str]:
    best = (-np.inf, "")
    places = [place for place, start in enumerate(window["starts"]) if start >= 0]
    for first in places:
        for last in places:
            if first <= last < first + LONGEST_ANSWER and text_at(window, first, last) != other_than:
                score = float(np.float32(logits[first, 0]) + np.float32(logits[last, 1]))
                best = max(best, (score, text_at(window, first, last)))
    return best


def test_answers_are_those_of_trying_every_span(ask: Ask, wordpiece: Any) -> None:
    task = short_windows(32, 10)
    rows = [ask(f"Question {n}?", PASSAGE * (1 + n % 3), "1887", id=f"q{n}") for n in range(12)]
    index = task.windows(rows, wordpiece)
    rng = np.random.default_rng(0)
    logits = [rng.normal(size=(n, 2)).astype(np.float32) for n in index["length"].to_pylist()]
    for one in logits:
        one[0] += 1.5  # so that both answers and refusals occur
    found = {each["id"]: each for each in task.answers(index, logits)}
    refused = 0
    for row in rows:
        windows = [(w, one) for w, one in zip(index.to_pylist(), logits, strict=True) if w["row"] == row.id]
        score, text = max(brute_force(window, one) for window, one in windows)
        null = min(float(one[0].sum()) for _, one in windows)
        refused += null >= score
        assert found[row.id]["score"] == pytest.approx(score)
        assert found[row.id]["no_answer"] == pytest.approx(null)
        assert found[row.id]["prediction"] == ("" if null >= score else text)
    assert 0 < refused < len(rows)


def test_the_best_other_span_is_that_of_trying_every_one(ask: Ask, wordpiece: Any) -> None:
    task = short_windows(32, 10)
    rows = [ask(f"Question {n}?", PASSAGE * (1 + n % 3), "1887", id=f"q{n}") for n in range(12)]
    index = task.windows(rows, wordpiece)
    rng = np.random.default_rng(1)
    logits = [rng.normal(size=(n, 2)).astype(np.float32) for n in index["length"].to_pylist()]
    first = best_spans(index, logits).spans(index)
    second = best_spans(index, logits, other_than=first)
    windows = list(zip(index.to_pylist(), logits, strict=True))
    for row, text, other, score in zip(rows, first, second.spans(index), second.score, strict=True):
        tried = [brute_force(w, one, other_than=text) for w, one in windows if w["row"] == row.id]
        assert (score, other) == (pytest.approx(max(tried)[0]), max(tried)[1])
        assert other != text
    nothing = best_spans(index, logits, other_than=[""] * len(rows))
    assert nothing.spans(index) == first


def test_an_answer_lies_in_one_window_and_in_the_passage(ask: Ask, wordpiece: Any) -> None:
    task = short_windows(20, 4)
    index = task.windows([ask("Where?", PASSAGE, "1887")], wordpiece)
    logits = flat_logits(index)
    assert len(logits) >= 2
    logits[0][-2, 0] = 9  # the last passage token of one window …
    logits[1][1, 1] = 9  # … and, as an end, a token of the question in the next
    spans = best_spans(index, logits)
    last = index["starts"].to_pylist()[0][-2]
    assert spans.start.tolist() == [last]
    assert spans.score.tolist() == [9.0]


@pytest.mark.parametrize(("distance", "answered"), [(29, True), (30, False)])
def test_an_answer_has_at_most_thirty_tokens(ask: Ask, wordpiece: Any, distance: int, answered: bool) -> None:
    index = SPAN.windows([ask("When?", PASSAGE * 4, "1887")], wordpiece)
    logits = flat_logits(index)
    logits[0][10, 0] = logits[0][10 + distance, 1] = 5
    logits[0][0] = 4
    assert bool(SPAN.answers(index, logits)[0]["prediction"]) == answered


def test_a_tie_with_no_answer_is_no_answer(ask: Ask, wordpiece: Any) -> None:
    index = SPAN.windows([ask("When?", PASSAGE, "1887")], wordpiece)
    answer = SPAN.answers(index, flat_logits(index))[0]
    assert answer == {"id": "q", "prediction": "", "start": None, "score": 0.0, "no_answer": 0.0}


def test_a_question_is_unanswered_only_if_every_window_says_so(ask: Ask, wordpiece: Any) -> None:
    task = short_windows(28, 8)
    index = task.windows([ask("When?", PASSAGE * 2, "1887")], wordpiece)
    logits = flat_logits(index)
    for one, label in zip(logits, index["label"].to_pylist(), strict=True):
        one[int(label[0]), 0] = one[int(label[1]), 1] = 5
    assert [0.0, 0.0] in index["label"].to_pylist()
    assert task.evaluate(index, logits).metrics["exact"] == 1.0


def test_an_empty_passage_has_no_answer(wordpiece: Any) -> None:
    index = SPAN.windows([Row(id="e", text_a="Why?", text_b="", answers=())], wordpiece)
    assert SPAN.evaluate(index, flat_logits(index)).metrics["NoAns_exact"] == 1.0
    assert SPAN.answers(index, flat_logits(index))[0]["score"] is None


def test_logits_that_are_not_numbers_answer_nothing(ask: Ask, wordpiece: Any) -> None:
    index = SPAN.windows([ask("When?", PASSAGE, "1887")], wordpiece)
    logits = [np.full_like(one, np.nan) for one in flat_logits(index)]
    assert SPAN.answers(index, logits)[0]["prediction"] == ""


def test_rows_without_labels_cannot_be_scored(ask: Ask, wordpiece: Any) -> None:
    rows = [ask("When?", PASSAGE, "1887"), Row(id="u", text_a="Who?", text_b=PASSAGE)]
    index = SPAN.windows(rows, wordpiece)
    assert len(SPAN.answers(index, flat_logits(index))) == 2
    with pytest.raises(
        DataError, match=r"^squad2-span: some rows have no label, so there is nothing to score$"
    ):
        SPAN.evaluate(index, flat_logits(index))
