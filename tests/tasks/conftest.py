"""Two small fast tokenizers of different families, and short ways to write data files."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tokenizers import BertWordPieceTokenizer, ByteLevelBPETokenizer
from tokenizers.processors import BertProcessing, RobertaProcessing
from transformers import PreTrainedTokenizerFast

from bv_search.tasks import Answer, Row

TEXTS = (
    "The museum of Arkel was founded in 1887 by the painter Ysolde Brandt, near the old harbour.",
    "Who founded the museum? When was it founded? Where does it stand?",
    "Its café, “Zum Anker”, was rebuilt after the flood of 1953 and is open on Sundays only.",
    "a boring, unfunny film. a charming and often affecting journey.",
)


@pytest.fixture(scope="session")
def wordpiece() -> PreTrainedTokenizerFast:
    pieces = BertWordPieceTokenizer(lowercase=True)
    pieces.train_from_iterator(TEXTS * 3, vocab_size=300, min_frequency=1, show_progress=False)
    end, start = pieces.token_to_id("[SEP]"), pieces.token_to_id("[CLS]")
    pieces._tokenizer.post_processor = BertProcessing(("[SEP]", end), ("[CLS]", start))
    return PreTrainedTokenizerFast(
        tokenizer_object=pieces._tokenizer,
        model_max_length=512,
        pad_token="[PAD]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        unk_token="[UNK]",
    )


@pytest.fixture(scope="session")
def byte_pairs() -> PreTrainedTokenizerFast:
    """As RoBERTa has it: <s> question </s></s> passage </s>, one segment."""
    pieces = ByteLevelBPETokenizer(add_prefix_space=False)
    pieces.train_from_iterator(
        TEXTS * 3,
        vocab_size=400,
        min_frequency=1,
        show_progress=False,
        special_tokens=["<s>", "</s>", "<pad>"],
    )
    end, start = pieces.token_to_id("</s>"), pieces.token_to_id("<s>")
    pieces._tokenizer.post_processor = RobertaProcessing(
        ("</s>", end), ("<s>", start), add_prefix_space=False
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=pieces._tokenizer, model_max_length=512, pad_token="<pad>"
    )


@pytest.fixture
def ask() -> Callable[..., Row]:
    """A row of a span task; the first occurrence of each answer is its place."""

    def build(question: str, passage: str, *answers: str, id: str = "q") -> Row:  # noqa: A002
        places = tuple(Answer(text=text, start=passage.index(text)) for text in answers)
        return Row(id=id, text_a=question, text_b=passage, group=passage, answers=places)

    return build


def squad(*paragraphs: tuple[str, list[dict[str, Any]]]) -> dict[str, Any]:
    items = [{"context": context, "qas": questions} for context, questions in paragraphs]
    return {"version": "v2.0", "data": [{"title": "T", "paragraphs": items}]}


def write_squad(path: Path, passages: int, *, first: int = 0) -> Path:
    """Two questions per passage: one that it answers, one that it does not."""
    paragraphs = []
    for number in range(first, first + passages):
        context = f"House {number} was built in {1800 + number} by the sea."
        year = str(1800 + number)
        answered = {
            "id": f"yes-{number}",
            "question": f"When was house {number} built?",
            "answers": [{"text": year, "answer_start": context.index(year)}],
            "is_impossible": False,
        }
        unanswered = {
            "id": f"no-{number}",
            "question": f"Who built house {number}?",
            "answers": [],
            "plausible_answers": [{"text": "the sea", "answer_start": 0}],
            "is_impossible": True,
        }
        paragraphs.append((context, [answered, unanswered]))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(squad(*paragraphs)), encoding="utf-8")
    return path


@pytest.fixture
def squad_folder(tmp_path: Path) -> Path:
    write_squad(tmp_path / "squad" / "train-v2.0.json", 40)
    write_squad(tmp_path / "squad" / "dev-v2.0.json", 10, first=40)
    return tmp_path / "squad"


@pytest.fixture
def write_tsv(tmp_path: Path) -> Callable[..., Path]:
    def write(name: str, *lines: tuple[object, ...]) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        text = "".join("\t".join(map(str, fields)) + "\n" for fields in lines)
        path.write_text(text, encoding="utf-8", newline="")
        return path

    return write
