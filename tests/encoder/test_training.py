from dataclasses import dataclass, replace
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
import torch
from torch import Tensor
from transformers import BertPreTrainedModel

from bv_search.encoder.checkpoint import load_untrained, wrap
from bv_search.encoder.encoder import Encoded
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


@dataclass(frozen=True, kw_only=True)
class FirstStep:
    loss: float
    gradients: dict[str, Tensor]
    states: Encoded | None


def first_step(
    folder: Path,
    rows: tuple[Row, ...],
    settings: TrainingSettings,
    *,
    dropout: float | None = 0.0,
    with_states: bool = False,
) -> FirstStep:
    """Its gradients as they stood when the optimiser took them; None: the encoder's own dropout."""
    task = find_task("mrpc")
    checkpoint = load_untrained(locate_encoder(folder), task, seed=3)
    dropouts = [each for each in checkpoint.model.modules() if isinstance(each, torch.nn.Dropout)]
    for module in dropouts:
        module.p = module.p if dropout is None else dropout
    assert dropouts
    windows = task.windows(rows, checkpoint.tokenizer)
    training = EncoderTraining(checkpoint.model, task, windows, settings)
    step = next(training.steps([1.0], with_states=with_states))
    named = checkpoint.model.named_parameters()
    gradients = {name: each.grad.clone() for name, each in named if each.grad is not None}
    assert gradients
    return FirstStep(loss=step.loss, gradients=gradients, states=step.states)


def distance(ours: FirstStep, theirs: FirstStep) -> float:
    assert ours.gradients.keys() == theirs.gradients.keys()
    return max(float((ours.gradients[n] - theirs.gradients[n]).abs().max()) for n in ours.gradients)


@pytest.mark.parametrize("parts", [2, 3, 4])
def test_a_step_read_in_parts_is_the_step(
    encoder_folder: Path, pair_rows: tuple[Row, ...], parts: int
) -> None:
    whole = first_step(encoder_folder, pair_rows, SETTINGS)
    in_parts = first_step(encoder_folder, pair_rows, replace(SETTINGS, accumulate=parts))
    assert in_parts.loss == pytest.approx(whole.loss, abs=1e-6)
    assert distance(whole, in_parts) < 1e-6


def test_a_step_of_fewer_windows_than_parts_is_the_step(
    encoder_folder: Path, pair_rows: tuple[Row, ...]
) -> None:
    whole = first_step(encoder_folder, pair_rows[:2], SETTINGS)
    in_parts = first_step(encoder_folder, pair_rows[:2], replace(SETTINGS, accumulate=4))
    assert distance(whole, in_parts) < 1e-6


def test_each_part_has_a_dropout_of_its_own(encoder_folder: Path, pair_rows: tuple[Row, ...]) -> None:
    one = pair_rows[:1] * 2
    apart = first_step(
        encoder_folder, one, replace(SETTINGS, accumulate=2), dropout=None, with_states=True
    ).states
    assert apart is not None
    assert not torch.equal(apart.layers[0][0], apart.layers[0][1])


def test_parts_show_the_hidden_states_of_the_whole_step(
    encoder_folder: Path, pair_rows: tuple[Row, ...]
) -> None:
    settings = replace(SETTINGS, batch=16)
    whole = first_step(encoder_folder, pair_rows, settings, with_states=True).states
    less = replace(settings, accumulate=2, checkpointing=True)
    parts = first_step(encoder_folder, pair_rows, less, with_states=True).states
    assert whole is not None
    assert parts is not None
    assert max(whole.lengths[:8]) < max(whole.lengths[8:]), "parts of different lengths"
    assert parts.lengths == whole.lengths
    assert parts.pooler_BH is not None
    assert whole.pooler_BH is not None
    torch.testing.assert_close(parts.pooler_BH, whole.pooler_BH)
    assert len(parts.layers) == len(whole.layers)
    for ours, theirs in zip(parts.layers, whole.layers, strict=True):
        for row, length in enumerate(whole.lengths):
            torch.testing.assert_close(ours[row, :length], theirs[row, :length])


def test_activations_that_are_computed_again_are_the_same(
    encoder_folder: Path, pair_rows: tuple[Row, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dropout too, to the last bit; and they are computed again."""
    kept = first_step(encoder_folder, pair_rows, SETTINGS, dropout=None)
    counted = Mock(side_effect=torch.utils.checkpoint.checkpoint)
    monkeypatch.setattr("transformers.modeling_utils.checkpoint", counted)
    again = first_step(encoder_folder, pair_rows, replace(SETTINGS, checkpointing=True), dropout=None)
    assert counted.call_count == 2, "one for each layer"
    assert again.loss == kept.loss
    assert distance(kept, again) == 0.0


def test_an_encoder_that_cannot_compute_again_is_refused(
    encoder_folder: Path, pair_rows: tuple[Row, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BertPreTrainedModel, "supports_gradient_checkpointing", False)
    with pytest.raises(EncoderError, match=r"cannot compute its activations again.*leave --checkp"):
        first_step(encoder_folder, pair_rows, replace(SETTINGS, checkpointing=True))


def test_a_step_that_needs_more_memory_than_there_is_says_what_to_add(
    encoder_folder: Path, pair_rows: tuple[Row, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    full = Mock(side_effect=torch.OutOfMemoryError("tried to allocate 2 GB\n and more"))
    monkeypatch.setattr("bv_search.encoder.training.run", full)
    with pytest.raises(EncoderError, match=r"step 1 takes more memory than cpu .*tried .*--accumulate"):
        first_step(encoder_folder, pair_rows, SETTINGS)
