"""A small BERT from scratch: a WordPiece vocabulary of the text, seeded weights, a little pre-training."""

from dataclasses import dataclass
from pathlib import Path

import torch
from transformers import BertConfig, BertModel, BertTokenizerFast

from bv_search.demo.tokenizer import build_tokenizer
from bv_search.files import folder_being_made


@dataclass(frozen=True, kw_only=True)
class EncoderSettings:
    """The shape of the encoder, and on how many passages of its own it is pre-trained."""

    layers: int = 3
    width: int = 96
    heads: int = 4
    vocabulary: int = 1000
    positions: int = 512
    warm_passages: int = 10_000
    seed: int = 0


def build_encoder(out: Path, data: Path, settings: EncoderSettings) -> Path:
    """A transformers folder at `out` whose vocabulary comes from the text in `data`."""
    tokenizer = build_tokenizer(data, vocabulary=settings.vocabulary, positions=settings.positions)
    model = new_model(tokenizer, settings)
    with folder_being_made(out) as part:
        model.save_pretrained(part)
        tokenizer.save_pretrained(part)
    return out


def new_model(tokenizer: BertTokenizerFast, settings: EncoderSettings) -> BertModel:
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=settings.width,
        num_hidden_layers=settings.layers,
        num_attention_heads=settings.heads,
        intermediate_size=4 * settings.width,
        max_position_embeddings=settings.positions,
        pad_token_id=tokenizer.pad_token_id,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        return BertModel(config)
