"""What a model's second choice is, and whether it is right."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from bv_search.model.standings import Standings
from bv_search.report.facts import gather
from bv_search.report.page import render
from bv_search.report.spans import second_right, span_facts
from bv_search.scan.ladder import ENCODER
from bv_search.tasks.span import LONGEST_ANSWER, best_spans
from bv_search.tasks.window import WINDOW_SCHEMA
from tests.model.small_run import Small

# too far from each other for a span to hold two of them
GAP = ["…"] * LONGEST_ANSWER
WORDS = [word for name in ("Ada", "in", "May", "Bob", "in", "June") for word in (name, *GAP)]
PASSAGE = " ".join(WORDS)


def index_of(*golds: list[str]) -> pa.Table:
    """A window each: [CLS], then a token a word."""
    starts = [0, *(sum(len(word) + 1 for word in WORDS[:n]) for n in range(1, len(WORDS)))]
    ends = [start + len(word) for start, word in zip(starts, WORDS, strict=True)]
    rows = [
        {
            "id": f"{number}#0",
            "row": str(number),
            "length": len(WORDS) + 1,
            "starts": [-1, *starts],
            "ends": [-1, *ends],
            "passage": PASSAGE,
            "golds": gold,
        }
        for number, gold in enumerate(golds)
    ]
    return pa.Table.from_pylist(rows, schema=WINDOW_SCHEMA)


def liking(*words: str) -> np.ndarray:
    """Logits of a model that would answer with these words, the first one rather; "" is no answer."""
    logits = np.full((len(WORDS) + 1, 2), -9.0, dtype=np.float32)
    for rank, word in enumerate(words):
        logits[WORDS.index(word) + 1 if word else 0] = 4 - rank
    return logits


@pytest.mark.parametrize(
    ("gold", "likes", "right"),
    [
        (["Bob"], ("Ada", "Bob", ""), True),  # a wrong span, then the right one
        (["Bob"], ("Ada", "", "Bob"), True),  # whatever no answer would score
        (["Bob"], ("Ada", "May", "Bob"), False),
        (["Ada"], ("", "Ada"), True),  # wrongly silent
        (["Ada"], ("", "May", "Ada"), False),
        ([], ("Ada", "", "May"), False),  # no span is right where there is no answer
    ],
)
def test_the_second_choice_is_a_span(gold: list[str], likes: tuple[str, ...], right: bool) -> None:
    index, logits = index_of(gold, ["May"]), [liking(*likes), liking("May")]
    assert second_right(index, logits, best_spans(index, logits)).tolist() == [right, False]


def test_the_same_text_elsewhere_is_no_second_choice() -> None:
    logits = liking("in", "", "June")
    logits[len(WORDS) - WORDS[::-1].index("in")] = 3  # the later one
    index = index_of(["June"])
    best = best_spans(index, [logits])
    assert best.texts(index) == ["in"]
    assert second_right(index, [logits], best).tolist() == [True]


def test_a_passage_of_one_word_has_no_second_choice() -> None:
    index = index_of([]).slice(0, 1).to_pylist()
    index[0] |= {"passage": "Ada", "starts": [-1, 0], "ends": [-1, 3], "length": 2}
    table = pa.Table.from_pylist(index, schema=WINDOW_SCHEMA)
    logits = [np.array([[0, 0], [1, 1]], dtype=np.float32)]
    assert second_right(table, logits, best_spans(table, logits)).tolist() == [False]


def test_questions_with_and_without_an_answer_are_told_apart(small: Small) -> None:
    encoder = next(each for each in span_facts(gather(small.run)) if each.role == ENCODER)
    assert small.store.manifest.baseline is not None
    metrics = small.store.manifest.baseline.report
    assert encoder.has_answer == pytest.approx(metrics["HasAns_exact"])
    assert encoder.no_answer == pytest.approx(metrics["NoAns_exact"])
    assert (encoder.alone, encoder.lost) == (0, 0)


def test_without_predictions_of_the_encoder_no_head_stands_in_for_it(small: Small) -> None:
    facts = gather(small.run)
    others = Standings(all=[each for each in facts.standings if each.role != ENCODER])
    heads = replace(facts, compared=others)
    for found in span_facts(heads):
        assert (found.alone, found.lost, found.alone_words, found.lost_words) == (None,) * 4
    table = render(heads).markdown.partition("## With an answer, and without")[2].partition("##")[0]
    assert table.count("| – | – |\n") == len(others.all)
