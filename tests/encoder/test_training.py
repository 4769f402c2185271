from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from bv_search.encoder.checkpoint import load_untrained, wrap
from bv_search.encoder.location import locate_encoder
from bv_search.encoder.predictions import predict_logits
from bv_search.encoder.training import EncoderTraining, Step, TrainingSettings, train
from bv_search.errors import EncoderError
from bv_search.tasks.registry import find_task
from bv_search.tasks.row import Row

SETTINGS = TrainingSettings(learning_rate=1e-3, batch=4, seed=3)


def weights_at(
    folder: Path, rows: tuple[Row, ...], fractions: tuple[float, ...], settings: TrainingSettings = SETTINGS
) -> dict[float, dict[str, Tensor]]:
    """The weights at every fraction, with somebody looking at the model at each."""
    task = find_task("mrpc")
    checkpoint = load_untrained(locate_encoder(folder), task, seed=settings.seed)
    windows = task.windows(rows, checkpoint.tokenizer)
    found: dict[float, dict[str, Tensor]] = {}
    for step in train(checkpoint.model, task, windows, settings, fractions):
        for fraction in step.reached:
            found[fraction] = {n: w.clone() for n, w in checkpoint.model.state_dict().items()}
            encoder = wrap(checkpoint, task=task, stage=None, predicts=True, device=torch.device("cpu"))
            predict_logits(encoder, windows)
            torch.rand(5)
    return found


def same(ours: dict[str, Tensor], theirs: dict[str, Tensor]) -> bool:
    return all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_a_stage_is_the_same_whatever_comes_before_and_after(
    encoder_folder: Path, pair_rows: tuple[Row, ...]
) -> None:
    alone = weights_at(encoder_folder, pair_rows, (0.5,))
    along = weights_at(encoder_folder, pair_rows, (0.1, 0.3, 0.5, 1.0, 1.7))
    assert same(alone[0.5], along[0.5])
    assert not same(along[0.3], along[0.5])


def test_training_goes_on_from_its_state_to_the_same_bits(
    encoder_folder: Path, pair_rows: tuple[Row, ...]
) -> None:
    task = find_task("mrpc")
    ends = []
    for broken_off in (False, True):
        checkpoint = load_untrained(locate_encoder(encoder_folder), task, seed=3)
        windows = task.windows(pair_rows, checkpoint.tokenizer)
        training = EncoderTraining(checkpoint.model, task, windows, SETTINGS)
        for step in training.steps([1.0], with_states=broken_off):
            if broken_off and step.number == 3:
                kept = {name: tensor.clone() for name, tensor in training.state().items()}
                checkpoint = load_untrained(locate_encoder(encoder_folder), task, seed=3)
                training = EncoderTraining(checkpoint.model, task, windows, SETTINGS)
                training.restore(kept, done=3)
                list(training.steps([1.0]))
                break
        assert training.done == training.plan.steps_per_epoch
        ends.append(dict(checkpoint.model.state_dict()))
    assert same(*ends)


def test_a_step_shows_the_hidden_states_that_it_made(
    encoder_folder: Path, pair_rows: tuple[Row, ...]
) -> None:
    task = find_task("mrpc")
    checkpoint = load_untrained(locate_encoder(encoder_folder), task, seed=3)
    windows = task.windows(pair_rows, checkpoint.tokenizer)
    step = next(EncoderTraining(checkpoint.model, task, windows, SETTINGS).steps([1.0], with_states=True))
    assert step.states is not None
    config = checkpoint.model.config
    assert len(step.states.layers) == config.num_hidden_layers + 1
    assert step.states.lengths == tuple(windows["length"].take(step.windows).to_pylist())
    assert all(not layer.requires_grad for layer in step.states.layers)
    assert step.states.pooler_BH is not None
    assert not step.states.pooler_BH.requires_grad


def test_another_seed_is_another_stage(encoder_folder: Path, pair_rows: tuple[Row, ...]) -> None:
    other = TrainingSettings(learning_rate=1e-3, batch=4, seed=4)
    one = weights_at(encoder_folder, pair_rows, (0.5,))
    assert not same(one[0.5], weights_at(encoder_folder, pair_rows, (0.5,), other)[0.5])


@pytest.mark.parametrize("name", ["mrpc", "stsb"])
def test_training_learns(encoder_folder: Path, pair_rows: tuple[Row, ...], name: str) -> None:
    assert_learns(encoder_folder, pair_rows, name, epochs=12)


def test_training_learns_spans(encoder_folder: Path, span_rows: tuple[Row, ...]) -> None:
    assert_learns(encoder_folder, span_rows, "squad2-span", epochs=80)


def assert_learns(folder: Path, rows: tuple[Row, ...], name: str, *, epochs: int) -> None:
    task = find_task(name)
    checkpoint = load_untrained(locate_encoder(folder), task, seed=0)
    windows = task.windows(rows, checkpoint.tokenizer)
    settings = TrainingSettings(learning_rate=2e-3, batch=3, seed=0)
    steps = list(train(checkpoint.model, task, windows, settings, (float(epochs),)))
    losses = [step.loss for step in steps]
    assert np.mean(losses[-5:]) < 0.6 * np.mean(losses[:5])
    encoder = wrap(checkpoint, task=task, stage=None, predicts=True, device=torch.device("cpu"))
    assert task.evaluate(windows, predict_logits(encoder, windows)).score > 0.9


def test_a_step_says_what_has_been_met(encoder_folder: Path, pair_rows: tuple[Row, ...]) -> None:
    task = find_task("mrpc")
    checkpoint = load_untrained(locate_encoder(encoder_folder), task, seed=0)
    windows = task.windows(pair_rows, checkpoint.tokenizer)
    steps = list(train(checkpoint.model, task, windows, SETTINGS, (0.3, 1.0, 1.5)))
    marks: list[Step] = [step for step in steps if step.reached]
    assert [(step.number, step.reached) for step in marks] == [(3, (0.3,)), (10, (1.0,)), (15, (1.5,))]
    assert [len(step.met) for step in marks if step.met is not None] == [12, 40, 40]
    assert sum(step.tokens for step in steps[:10]) == sum(windows.column("length").to_pylist())


def test_divergence_is_one_line_that_says_what_to_do(
    encoder_folder: Path, pair_rows: tuple[Row, ...]
) -> None:
    hot = TrainingSettings(learning_rate=1e30, batch=4, seed=0)
    with pytest.raises(EncoderError, match=r"diverged at step \d+.*lower --learning-rate, which is 1e\+30"):
        weights_at(encoder_folder, pair_rows, (3.0,), hot)
