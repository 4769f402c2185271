"""A head between segments: it begins where it is told to, and survives as bytes."""

from pathlib import Path

import pytest
import torch

from bv_search.errors import HeadError
from bv_search.heads.config import HeadShape
from bv_search.heads.inputs import Standard
from bv_search.scan.outcome import Start
from bv_search.scan.scanner import Scanner
from bv_search.scan.state import HeadState, own_weights, seeds_of
from bv_search.scan.trial import TrialConfig
from tests.stores import make_span_store

SHAPE = HeadShape(layers=3, width=6, outputs=2, per_token=False)
CONFIG = TrialConfig.from_json({"head": {"kind": "adapter", "size": 2}, "batch": 48, "seed": 5, "passes": 1})
STANDARD = Standard(torch.zeros(3, 6), torch.ones(3, 6))


def test_states_survive_as_bytes(tmp_path: Path) -> None:
    store = make_span_store(tmp_path / "store")
    (outcome,) = Scanner(store.path).segment([Start(trial="a", config=CONFIG)], 4, score=())
    state = HeadState.from_bytes(outcome.state or b"")

    again = HeadState.from_bytes(state.to_bytes())

    assert (again.trial, again.config, again.position, again.steps, again.pending) == (
        "a",
        state.config,
        4,
        1,
        (16,),
    )
    assert all(torch.equal(again.gradient[name], tensor) for name, tensor in state.gradient.items())


def test_the_first_copy_is_the_head_as_it_is_alone() -> None:
    """All others draw weights and dropout of their own."""
    assert seeds_of(7, 1) == [7]
    seeds = seeds_of(7, 5)
    assert (seeds[0], len({*seeds, *seeds_of(8, 5)})) == (7, 10)
    assert seeds_of(7, 3) == seeds[:3]


def test_biases_start_at_the_constants_and_moments_at_zero() -> None:
    constants_KC = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    state = HeadState.fresh("a", CONFIG, SHAPE, constants_KC, copies=2)
    biases = [head.bias_C.tolist() for head in state.heads(STANDARD)]
    assert biases == constants_KC.tolist()
    assert (state.copies, state.position, state.steps, state.pending) == (2, 0, 0, (0, 0))
    assert not any(tensor.any() for part in (state.mean, state.square) for tensor in part.values())
    for name, mean in state.mean.items():
        assert mean.data_ptr() != state.square[name].data_ptr()


def test_heads_come_with_their_best_weights_where_they_had_any() -> None:
    state = HeadState.fresh("a", CONFIG, SHAPE)
    best = HeadState.fresh("a", CONFIG, SHAPE, torch.tensor([[7.0, 8.0]])).weights
    (now,), (without,) = state.heads(STANDARD), state.heads(STANDARD, at_best=True)
    assert torch.equal(now.bias_C, without.bias_C)
    again = HeadState.from_bytes(state.to_bytes())
    had = HeadState(**{**vars(again), "best_weights": best})
    assert had.heads(STANDARD, at_best=True)[0].bias_C.tolist() == [7.0, 8.0]
    assert had.heads(STANDARD)[0].bias_C.tolist() == [0.0, 0.0]


def test_the_numbers_of_inputs_stay_with_the_store() -> None:
    heads = HeadState.fresh("a", CONFIG, SHAPE, copies=2).heads(STANDARD)
    assert all(head.inputs is STANDARD for head in heads)
    assert any("inputs." in name for name in heads[0].state_dict())
    assert not any("inputs." in name for name in own_weights(heads))


@pytest.mark.parametrize("data", [b"", b"\x02\0\0\0\0\0\0\0{}", b"no state at all"])
def test_bytes_of_no_state_are_refused(data: bytes) -> None:
    with pytest.raises(HeadError, match=f"is not the state of a head; found {len(data)} bytes"):
        HeadState.from_bytes(data)
