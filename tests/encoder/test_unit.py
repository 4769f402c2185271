"""A regression is learned alike in whatever unit its values are, and answered in that."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch
from torch import nn
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    DistilBertConfig,
    DistilBertForSequenceClassification,
    ElectraConfig,
    ElectraForSequenceClassification,
    PreTrainedModel,
    RobertaConfig,
    RobertaForSequenceClassification,
)

from bv_search.encoder.checkpoint import load_untrained
from bv_search.encoder.location import locate_encoder
from bv_search.encoder.training import TrainingSettings, run, train
from bv_search.encoder.unit import ExactLinear, Unit, make_exact, value_layer
from bv_search.tasks.registry import find_task
from bv_search.tasks.row import Row

TINY = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 8}


@pytest.mark.parametrize(
    "model",
    [
        BertForSequenceClassification(BertConfig(**TINY, vocab_size=9, num_labels=1)),
        RobertaForSequenceClassification(RobertaConfig(**TINY, vocab_size=9, num_labels=1)),
        ElectraForSequenceClassification(ElectraConfig(**TINY, vocab_size=9, num_labels=1)),
        DistilBertForSequenceClassification(
            DistilBertConfig(dim=8, n_layers=1, n_heads=1, hidden_dim=8, vocab_size=9, num_labels=1)
        ),
    ],
    ids=lambda model: type(model).__name__,
)
def test_the_layer_that_a_value_comes_from_is_found(model: PreTrainedModel) -> None:
    layer = value_layer(model)
    assert layer.out_features == 1
    with torch.no_grad():
        layer.weight.zero_()
        layer.bias.fill_(7.0)
        assert float(model.eval()(input_ids=torch.tensor([[1, 2, 3]])).logits) == 7.0


def test_a_layer_with_a_unit_answers_in_it() -> None:
    layer, hidden = nn.Linear(4, 1), torch.randn(6, 4)
    deviations = layer(hidden).detach()
    Unit.of(np.array([[1990.0], [2010.0]])).give(layer)
    torch.testing.assert_close(layer(hidden), 2000.0 + 10.0 * deviations)


def test_values_are_not_rounded_to_16_bits() -> None:
    """Of bfloat16 neighbours of 2000 are 2000 and 2008."""
    config = BertConfig(**TINY, vocab_size=9, num_labels=1)
    model = BertForSequenceClassification(config).eval()
    make_exact(model)
    layer = value_layer(model)
    assert isinstance(layer, ExactLinear)
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        layer.weight.zero_()
        layer.bias.fill_(2001.0)
        assert float(model(input_ids=torch.tensor([[1, 2, 3]])).logits) == 2001.0


@pytest.mark.parametrize(("factor", "shift"), [(1000.0, 0.0), (1.0, 2000.0), (1e-3, 0.0)])
def test_a_regression_is_learned_alike_in_any_unit(tiny_encoder: Path, factor: float, shift: float) -> None:
    """Weights of the encoder, losses, and what it answers."""
    plain, other = (fine_tuned(tiny_encoder, *unit) for unit in ((1.0, 0.0), (factor, shift)))
    assert other[0] == pytest.approx(plain[0], rel=1e-2)
    np.testing.assert_allclose(other[1], plain[1] * factor + shift, atol=0.02 * factor)
    assert plain[0][-1] < 0.95 * plain[0][0], "it has learned something"


def fine_tuned(encoder: Path, factor: float, shift: float) -> tuple[list[float], np.ndarray]:
    """The losses of some epochs, and answers in the end."""
    task = find_task("stsb")
    checkpoint = load_untrained(locate_encoder(encoder), task, seed=0)
    rows = [
        Row(
            id=str(number),
            text_a="the red house " * (number % 4),
            text_b="a hill",
            label=float(number % 4) * factor + shift,
        )
        for number in range(16)
    ]
    windows: pa.Table = task.windows(rows, checkpoint.tokenizer)
    settings = TrainingSettings(learning_rate=1e-3, batch=8)
    losses = [step.loss for step in train(checkpoint.model, task, windows, settings, (10.0,))]
    model = checkpoint.model.eval()
    inputs = checkpoint.tokenizer([row.text_a for row in rows], return_tensors="pt", padding=True)
    with torch.no_grad():
        output, _ = run(model, dict(inputs))
    return losses, output.logits[:, 0].numpy()
