"""A small BERT from scratch: a vocabulary of the text, seeded weights, a little pre-training."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from transformers import BertConfig, BertForQuestionAnswering, PreTrainedTokenizerBase

from bv_search.demo.pretraining import PretrainingSettings, PretrainingStep, pretrain
from bv_search.demo.text import TextSettings
from bv_search.demo.tokenizer import build_tokenizer
from bv_search.encoder.silence import silence
from bv_search.files import folder_being_made


@dataclass(frozen=True, kw_only=True)
class EncoderSettings:
    """The shape of the encoder."""

    layers: int = 3
    width: int = 64
    heads: int = 4
    vocabulary: int = 1000  # word pieces, at most
    positions: int = 512
    spread: float = 0.12  # of the first weights; BERT's 0.02 learns little in so few steps
    seed: int = 0


def build_encoder(
    out: Path,
    data: Path,
    settings: EncoderSettings,
    pretraining: PretrainingSettings | None = None,
    tell: Callable[[PretrainingStep], object] = lambda step: None,
) -> Path:
    """A transformers folder at `out` whose vocabulary comes from the text in `data`."""
    tokenizer = build_tokenizer(data, vocabulary=settings.vocabulary, positions=settings.positions)
    model = new_model(tokenizer, settings)
    if pretraining is not None:
        for step in pretrain(model, tokenizer, TextSettings(), pretraining):
            tell(step)
    with folder_being_made(out) as part, silence():
        model.bert.save_pretrained(part)  # without the head it was pre-trained with
        tokenizer.save_pretrained(part)
    return out


def new_model(tokenizer: PreTrainedTokenizerBase, settings: EncoderSettings) -> BertForQuestionAnswering:
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=settings.width,
        num_hidden_layers=settings.layers,
        num_attention_heads=settings.heads,
        intermediate_size=4 * settings.width,
        max_position_embeddings=settings.positions,
        initializer_range=settings.spread,
        pad_token_id=tokenizer.pad_token_id,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        return BertForQuestionAnswering(config)
