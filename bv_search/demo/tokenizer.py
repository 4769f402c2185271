"""A WordPiece tokenizer trained on the passages and questions of SQuAD files."""

import json
from collections.abc import Iterator
from pathlib import Path

from tokenizers import BertWordPieceTokenizer
from transformers import BertTokenizerFast

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def build_tokenizer(data: Path, *, vocabulary: int, positions: int) -> BertTokenizerFast:
    pieces = BertWordPieceTokenizer(lowercase=True)
    pieces.train_from_iterator(
        read_texts(data),
        vocab_size=vocabulary,
        min_frequency=2,
        special_tokens=list(SPECIAL),
        show_progress=False,
    )
    return BertTokenizerFast(tokenizer_object=pieces._tokenizer, model_max_length=positions)


def read_texts(data: Path) -> Iterator[str]:
    for file in sorted(data.glob("*.json")):
        for article in json.loads(file.read_text(encoding="utf-8"))["data"]:
            for paragraph in article["paragraphs"]:
                yield paragraph["context"]
                for question in paragraph["qas"]:
                    yield question["question"]
