"""A BERT of 2 layers x 32 with random weights and a WordPiece vocabulary of a few dozen words."""

from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import TemplateProcessing
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

from bv_search.tasks.row import Answer, Row

WORDS = [
    *("the", "a", "cat", "dog", "bird", "fish", "sat", "ran", "flew", "swam", "on", "in", "under", "over"),
    *("mat", "park", "and", "then", "it", "was", "not", "who"),
]
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


@pytest.fixture(scope="session")
def encoder_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("encoder") / "bert"
    build_bert(folder)
    return folder


@pytest.fixture(scope="session")
def short_encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One that reads no more than 64 tokens."""
    folder = tmp_path_factory.mktemp("short") / "bert"
    build_bert(folder, positions=64)
    return folder


def build_bert(folder: Path, *, seed: int = 0, positions: int = 512) -> None:
    vocabulary = {word: number for number, word in enumerate([*SPECIAL, *WORDS])}
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=positions,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        BertModel(config).save_pretrained(folder)
    _build_tokenizer(vocabulary, positions).save_pretrained(folder)


def _build_tokenizer(vocabulary: dict[str, int], positions: int) -> PreTrainedTokenizerFast:
    pieces = Tokenizer(WordPiece(vocabulary, unk_token="[UNK]"))
    pieces.normalizer = BertNormalizer(lowercase=True)
    pieces.pre_tokenizer = BertPreTokenizer()
    pieces.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=pieces,
        model_max_length=positions,
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
        **{f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")},
    )


@pytest.fixture
def pair_rows() -> tuple[Row, ...]:
    """Two classes that one word tells apart, of different lengths."""
    rows = []
    for number in range(40):
        animal = WORDS[2 + number % 4]
        tail = " and then it ran" * (number % 5)
        text = f"the {animal} sat {'on' if number % 2 else 'under'} the mat{tail}"
        rows.append(
            Row(id=f"r-{number}", text_a=text, text_b=f"it was the {animal}", label=float(number % 2))
        )
    return tuple(rows)


@pytest.fixture
def span_rows() -> tuple[Row, ...]:
    passage = "the cat sat on the mat and then the dog ran in the park"
    return (
        Row(id="q0", text_a="who sat", text_b=passage, answers=(Answer(text="cat", start=4),)),
        Row(id="q1", text_a="was it not a bird and then who flew over the park", text_b=passage, answers=()),
        Row(id="q2", text_a="who ran in the park", text_b=passage, answers=(Answer(text="dog", start=36),)),
    )
