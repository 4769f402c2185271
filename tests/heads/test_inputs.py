"""Heads read states as they are or standardised, and take the numbers for that along."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from bv_search import files
from bv_search.errors import HeadError
from bv_search.heads.config import AdapterHead, ConstantHead, HeadShape, LinearHead, PoolingHead
from bv_search.heads.folder import read_config, write_head
from bv_search.heads.head import Head, count_parameters
from bv_search.heads.inputs import Inputs, Standard, prepare, share_inputs, value_moments
from bv_search.heads.pack import Pack
from bv_search.store.statistics import Moments, Statistics

LAYERS, TOKENS, WIDTH = 3, 60, 8
SHAPE = HeadShape(layers=LAYERS, width=WIDTH, outputs=2, per_token=True)
CONSTANT = 1, 5  # a layer and a feature that never change
LENGTHS_N = torch.tensor([25, 35])


def some_states(seed: int = 0) -> Tensor:
    """hidden_LTH with features of very different sizes, as encoders have them, exact in float16."""
    rng = np.random.default_rng(seed)
    sizes_LH = rng.choice([0.1, 1.0, 30.0], size=(LAYERS, 1, WIDTH))
    values_LTH = (rng.normal(size=(LAYERS, TOKENS, WIDTH)) + 2.0) * sizes_LH
    values_LTH[CONSTANT[0], :, CONSTANT[1]] = 7.0
    return torch.from_numpy(values_LTH.astype(np.float16).astype(np.float32))


def standard_of(hidden_LTH: Tensor) -> Standard:
    """As a store gives it."""
    moments = Moments.of(hidden_LTH.numpy().astype(np.float16), "float16")
    statistics = Statistics.of([moments], "float16")
    return Standard.of(statistics.mean_LH, statistics.scale_LH)


def some_head(inputs: Inputs, seed: int = 0) -> Head:
    return Head(AdapterHead(size=3, skip=True), SHAPE, inputs).initialise(seed)


def test_every_feature_of_every_channel_has_mean_zero_and_deviation_one() -> None:
    hidden_LTH = some_states()
    standard_LTH = standard_of(hidden_LTH).apply_to(hidden_LTH.clone())

    deviation_LH = torch.ones(LAYERS, WIDTH)
    deviation_LH[CONSTANT] = 0.0
    torch.testing.assert_close(standard_LTH.mean(dim=1), torch.zeros(LAYERS, WIDTH), atol=1e-5, rtol=0.0)
    torch.testing.assert_close(standard_LTH.std(dim=1, correction=0), deviation_LH, atol=1e-4, rtol=0.0)


def test_a_constant_feature_says_nothing_wherever_it_stands() -> None:
    """Of other rows, too, where it may differ: there is no scale to hold it against."""
    standard, others_LTH = standard_of(some_states()), some_states(seed=1)
    others_LTH[CONSTANT[0], :, CONSTANT[1]] = torch.linspace(-1e4, 1e4, TOKENS)
    assert not standard.apply_to(others_LTH)[CONSTANT[0], :, CONSTANT[1]].any()


def test_standardising_is_done_in_place() -> None:
    hidden_LTH = some_states()
    standard_LTH = standard_of(hidden_LTH).apply_to(hidden_LTH)
    assert standard_LTH.data_ptr() == hidden_LTH.data_ptr()


@pytest.mark.parametrize("kinds", ["raw", "standard", "raw standard", "standard other", "other raw standard"])
def test_a_batch_is_prepared_once_for_each_kind_that_is_wanted(kinds: str) -> None:
    hidden_LTH = some_states()
    named = {"raw": None, "standard": standard_of(hidden_LTH), "other": standard_of(some_states(seed=1))}
    wanted = [named[name] for name in kinds.split()]

    states = prepare(hidden_LTH.clone(), wanted)

    assert set(states) == set(wanted)
    for inputs, found_LTH in states.items():
        expected_LTH = hidden_LTH if inputs is None else inputs.apply_to(hidden_LTH.clone())
        assert torch.equal(found_LTH, expected_LTH)


def test_the_last_kind_is_made_where_the_states_stood() -> None:
    hidden_LTH = some_states()
    first, last = standard_of(hidden_LTH), standard_of(some_states(seed=1))
    assert prepare(hidden_LTH, [first, last])[last].data_ptr() == hidden_LTH.data_ptr()


def test_heads_on_either_kind_answer_in_one_pack_as_alone() -> None:
    hidden_LTH = some_states()
    standard, other = standard_of(hidden_LTH), standard_of(some_states(seed=1))
    heads = [some_head(inputs, seed) for seed, inputs in enumerate([standard, None, other, standard])]
    heads.append(Head(ConstantHead(), SHAPE, standard))
    found = Pack(heads)(prepare(hidden_LTH.clone(), share_inputs(heads)), LENGTHS_N)
    for head, out_TC in zip(heads, found, strict=True):
        (alone_TC,) = Pack([head])(prepare(hidden_LTH.clone(), [head.inputs]), LENGTHS_N)
        torch.testing.assert_close(out_TC, alone_TC)
        if head.inputs is not None:
            plain = Head(head.config, SHAPE)
            plain.load_state_dict({name: p for name, p in head.state_dict().items() if "inputs" not in name})
            (by_hand_TC,) = Pack([plain])({None: head.inputs.apply_to(hidden_LTH.clone())}, LENGTHS_N)
            torch.testing.assert_close(out_TC, by_hand_TC)


def test_heads_that_are_loaded_apart_share_their_inputs(tmp_path: Path) -> None:
    """A batch is standardised once for them all, and they run as one."""
    standard, other = standard_of(some_states()), standard_of(some_states(seed=1))
    for number, inputs in enumerate([standard, None, standard, other, None]):
        some_head(inputs, number).save_pretrained(tmp_path / str(number))
    heads = [Head.from_pretrained(tmp_path / str(number)) for number in range(5)]
    apart = [head.inputs for head in heads if head.inputs is not None]
    assert len({id(each) for each in apart}) == 3

    kinds = share_inputs(heads)

    assert len(kinds) == 3
    assert heads[0].inputs is heads[2].inputs is kinds[0]
    assert heads[1].inputs is heads[4].inputs is kinds[1] is None
    assert heads[3].inputs is kinds[2] is not None
    states = prepare(some_states(), kinds)
    assert len(Pack(heads)(states, LENGTHS_N)) == 5
    assert share_inputs(heads) == kinds


@pytest.mark.parametrize("inputs", ["standard", "raw"])
def test_a_saved_head_answers_without_the_store_that_it_learned_on(inputs: str, tmp_path: Path) -> None:
    hidden_LTH = some_states()
    head = some_head(standard_of(hidden_LTH) if inputs == "standard" else None)
    head.save_pretrained(tmp_path)
    again = Head.from_pretrained(tmp_path)

    assert files.read_json(tmp_path / "config.json", HeadError)["inputs"] == inputs
    assert (again.inputs is None) == (inputs == "raw")
    (expected_TC,), (found_TC,) = (
        Pack([each])(prepare(hidden_LTH.clone(), [each.inputs]), LENGTHS_N) for each in (head, again)
    )
    assert torch.equal(found_TC, expected_TC)


def test_a_head_without_the_numbers_of_its_inputs_is_refused(tmp_path: Path) -> None:
    """And one with some that it does not read."""
    standard = standard_of(some_states())
    some_head(standard).save_pretrained(tmp_path / "standard")
    some_head(None).save_pretrained(tmp_path / "raw")
    for name, message in (
        ("standard", r"tensor inputs\.(mean|scale)_LH is missing"),
        ("raw", "tensor inputs.* belong"),
    ):
        other = "raw" if name == "standard" else "standard"
        swapped = tmp_path / f"{name} swapped"
        weights = (tmp_path / other / "model.safetensors").read_bytes()
        write_head(swapped, read_config(tmp_path / name), weights)
        with pytest.raises(HeadError, match=message):
            Head.from_pretrained(swapped)


def test_what_heads_read_is_stored_with_them_and_no_parameter() -> None:
    standard = standard_of(some_states())
    for config in (PoolingHead(), LinearHead(), AdapterHead(size=3)):
        raw, head = Head(config, SHAPE), Head(config, SHAPE, standard)
        assert head.parameter_count() == raw.parameter_count() == count_parameters(config, SHAPE)
        assert head.stored_count() == raw.stored_count() + 2 * LAYERS * WIDTH
        assert {name for name, _ in head.named_parameters()} == {name for name, _ in raw.named_parameters()}


def test_numbers_that_differ_anywhere_are_other_inputs() -> None:
    one, same, other = (standard_of(some_states(seed)) for seed in (0, 0, 1))
    assert one.equals(same)
    assert not one.equals(other)
    scaled = Standard(same.mean_LH, same.scale_LH * 2)
    shifted = Standard(same.mean_LH + 1, same.scale_LH)
    assert not any(one.equals(each) for each in (scaled, shifted))


def test_values_are_standardised_and_said_in_their_own_unit(tmp_path: Path) -> None:
    shape = HeadShape(layers=LAYERS, width=WIDTH, outputs=1, per_token=False, tokens=1)
    moments = value_moments(np.array([[10.0], [30.0], [50.0]]))
    standard = Standard.of(np.zeros((LAYERS, WIDTH)), np.ones((LAYERS, WIDTH)), moments)
    answers = torch.tensor([[30.0], [10.0]])
    torch.testing.assert_close(standard.outputs(answers), torch.tensor([[0.0], [-1.2247449]]))
    torch.testing.assert_close(standard.answers(standard.outputs(answers)), answers)

    head = Head(LinearHead(), shape, standard).initialise(0)
    head.save_pretrained(tmp_path)
    again = Head.from_pretrained(tmp_path)
    states = {head.inputs: torch.randn(LAYERS, 2, WIDTH)}
    (said,) = Pack([head])(states, torch.tensor([1, 1]))
    (said_again,) = Pack([again])({again.inputs: states[head.inputs]}, torch.tensor([1, 1]))
    assert torch.equal(said, said_again)
    assert again.unit == pytest.approx(16.329932)
    assert head.stored_count() == Head(LinearHead(), shape).stored_count() + 2 * LAYERS * WIDTH + 2


def test_values_that_are_all_the_same_have_a_unit_too() -> None:
    assert [float(each) for each in value_moments(np.full((3, 1), 7.0))] == [7.0, 1.0]
