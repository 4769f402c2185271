"""Windows put together here are the very ones that the tokenizer makes, only sooner."""

import itertools
from copy import deepcopy
from typing import Any

import numpy as np
import pytest
from tokenizers import processors

from bv_search.tasks.passage import cutter, tokenise

QUESTION = "Who founded the museum, and when?"
PASSAGE = (
    "  The museum of Arkel was founded in 1887 by Ysolde Brandt (“Zum Anker”), near the old\u00a0harbour. "
    * 6
)


def ours(tokenizer: Any, question: str, passage: str, *, max_length: int, stride: int) -> list[Any]:
    tokens = tokenise([question, passage], tokenizer)
    return list(cutter(tokenizer, max_length, stride).cut(tokens[question], tokens[passage]))


@pytest.mark.parametrize("family", ["wordpiece", "byte_pairs"])
@pytest.mark.parametrize(("max_length", "stride"), [(48, 8), (64, 0), (96, 20), (400, 100)])
@pytest.mark.parametrize("passage", [PASSAGE, "Arkel.", ""])
def test_windows_are_those_of_the_tokenizer(
    family: str, max_length: int, stride: int, passage: str, request: pytest.FixtureRequest
) -> None:
    tokenizer = request.getfixturevalue(family)
    theirs = tokenizer(
        [QUESTION[:20]],
        [passage],
        truncation="only_second",
        max_length=max_length,
        stride=stride,
        return_overflowing_tokens=True,
        return_offsets_mapping=True,
        return_token_type_ids=True,
    )
    windows = ours(tokenizer, QUESTION[:20], passage, max_length=max_length, stride=stride)
    assert [window.token_ids.tolist() for window in windows] == theirs["input_ids"]
    assert [window.type_ids.tolist() for window in windows] == theirs["token_type_ids"]
    for number, window in enumerate(windows):
        offsets, sides = np.array(theirs["offset_mapping"][number]), np.array(theirs.sequence_ids(number))
        inside = sides == 1
        assert (window.starts >= 0).tolist() == inside.tolist()
        assert window.starts[inside].tolist() == offsets[inside, 0].tolist()
        assert window.ends[inside].tolist() == offsets[inside, 1].tolist()


def test_a_passage_that_just_fits_is_one_window(wordpiece: Any) -> None:
    tokens = tokenise([QUESTION, PASSAGE], wordpiece)
    whole = len(tokens[QUESTION].ids) + len(tokens[PASSAGE].ids) + 3
    assert len(ours(wordpiece, QUESTION, PASSAGE, max_length=whole, stride=20)) == 1
    assert len(ours(wordpiece, QUESTION, PASSAGE, max_length=whole - 1, stride=20)) == 2


def test_no_token_of_a_passage_is_lost_and_neighbours_overlap(wordpiece: Any) -> None:
    tokens = tokenise([QUESTION, PASSAGE], wordpiece)
    windows = ours(wordpiece, QUESTION, PASSAGE, max_length=60, stride=10)
    places = [set(window.starts[window.starts >= 0].tolist()) for window in windows]
    assert set().union(*places) == set(tokens[PASSAGE].starts.tolist())
    assert all(len(left & right) == 10 for left, right in itertools.pairwise(places))


def test_a_long_question_leaves_room_for_its_passage(wordpiece: Any) -> None:
    windows = ours(wordpiece, QUESTION * 40, PASSAGE, max_length=386, stride=128)
    question = windows[0].starts.tolist().index(0 if windows[0].starts.min() == 0 else 2) - 2
    assert question == 64
    short = ours(wordpiece, QUESTION * 40, PASSAGE, max_length=48, stride=40)
    assert all(len(window.token_ids) <= 48 for window in short)
    assert all((window.starts >= 0).sum() >= 1 for window in short)


def test_windows_are_no_longer_than_the_encoder_reads(wordpiece: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(wordpiece, "model_max_length", 40)
    windows = ours(wordpiece, QUESTION, PASSAGE, max_length=386, stride=128)
    assert max(len(window.token_ids) for window in windows) == 40


def test_texts_are_tokenised_once(wordpiece: Any) -> None:
    assert list(tokenise(["b", "a", "b"], wordpiece)) == ["b", "a"]


def test_the_blank_before_a_word_is_no_part_of_it(byte_pairs: Any) -> None:
    untrimmed = deepcopy(byte_pairs)
    untrimmed.backend_tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    text = "It is  Arkel."
    tokens = tokenise([text], untrimmed)[text]
    words = [text[start:end] for start, end in zip(tokens.starts, tokens.ends, strict=True)]
    assert "".join(words).replace(" ", "") == "ItisArkel."
    assert not any(word[0] == " " for word in words if word.strip())
