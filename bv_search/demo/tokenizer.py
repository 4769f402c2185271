"""A WordPiece tokenizer trained on the passages and questions of SQuAD files."""

import json
from collections.abc import Iterator
from pathlib import Path

from tokenizers import BertWordPieceTokenizer
from transformers import BertTokenizerFast, PreTrainedTokenizerBase

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
PREFIX = "##"


def build_tokenizer(data: Path, *, vocabulary: int, positions: int) -> PreTrainedTokenizerBase:
    texts = list(read_texts(data))
    pieces = BertWordPieceTokenizer(vocab=train_vocabulary(texts, size=vocabulary), lowercase=True)
    tokenizer: PreTrainedTokenizerBase = BertTokenizerFast(
        tokenizer_object=pieces._tokenizer, model_max_length=positions
    )
    return tokenizer


def train_vocabulary(texts: list[str], *, size: int) -> dict[str, int]:
    """At most `size` pieces and their numbers, the same for the same texts.

    The trainer numbers continuing letters in the order of a hash table, another one each time, and breaks
    ties by these numbers. Named beforehand as special, the letters have numbers already.
    """
    letters = sorted({letter for text in texts for letter in text.lower() if not letter.isspace()})
    trained = BertWordPieceTokenizer(lowercase=True)
    trained.train_from_iterator(
        texts,
        vocab_size=size,
        min_frequency=2,
        special_tokens=[*SPECIAL, *(PREFIX + letter for letter in letters)],
        wordpieces_prefix=PREFIX,
        show_progress=False,
    )
    vocabulary: dict[str, int] = trained.get_vocab()
    return vocabulary


def read_texts(data: Path) -> Iterator[str]:
    for file in sorted(data.glob("*.json")):
        for article in json.loads(file.read_text(encoding="utf-8"))["data"]:
            for paragraph in article["paragraphs"]:
                yield paragraph["context"]
                for question in paragraph["qas"]:
                    yield question["question"]
