from itertools import chain

import numpy as np
import pyarrow as pa
import pytest

from bv_search.encoder.batches import TrainingPlan, plan_inference, read_tokens

LENGTHS = tuple(int(n) for n in np.random.default_rng(0).integers(5, 200, size=1003))


def make(**changes: int) -> TrainingPlan:
    return TrainingPlan(**{"lengths": LENGTHS, "batch": 8, "seed": 0} | changes)  # type: ignore[arg-type]


def test_an_epoch_meets_every_window_once() -> None:
    plan = make()
    assert plan.steps_per_epoch == 126
    met = np.concatenate(list(plan.batches(until=plan.steps_per_epoch)))
    assert sorted(met) == list(range(len(LENGTHS)))


def test_the_way_to_a_fraction_does_not_depend_on_what_comes_after() -> None:
    short, long = make(), make()
    step = short.step_of(0.3)
    first = list(short.batches(until=step))
    assert all(
        np.array_equal(a, b) for a, b in zip(first, list(long.batches(until=2 * 126))[:step], strict=True)
    )


def test_epochs_and_seeds_differ_in_order() -> None:
    batches = list(make().batches(until=2 * 126))
    assert not np.array_equal(batches[0], batches[126])
    assert not np.array_equal(batches[0], next(iter(make(seed=1).batches(until=1))))


def test_a_batch_holds_like_lengths() -> None:
    lengths = np.array(LENGTHS)
    padded = sum(len(batch) * lengths[batch].max() for batch in make().batches(until=126))
    assert padded < 1.1 * lengths.sum()


def test_a_part_of_an_epoch_is_a_fair_sample_of_lengths() -> None:
    part = make().met(until=make().step_of(0.3))
    assert len(part) == pytest.approx(0.3 * len(LENGTHS), abs=8)
    assert np.mean(np.array(LENGTHS)[part]) == pytest.approx(np.mean(LENGTHS), rel=0.1)


def test_a_tiny_fraction_is_at_least_one_step_and_zero_is_none() -> None:
    assert make().step_of(0.0001) == 1
    assert make().step_of(0) == 0
    assert len(make().met(until=0)) == 0


def test_inference_covers_every_window_within_the_budget() -> None:
    lengths = np.array([*LENGTHS, 3000], dtype=np.int32)
    batches = list(plan_inference(lengths, tokens=1000))
    assert sorted(chain.from_iterable(batches)) == list(range(len(lengths)))
    assert all(len(batch) == 1 or len(batch) * lengths[batch].max() <= 1000 for batch in batches)
    assert batches[0].tolist() == [1003]


def test_tokens_are_read_from_tables_in_pieces() -> None:
    piece = pa.table({"token_ids": pa.array([[1, 2], [3]], pa.list_(pa.int32()))})
    assert [t.tolist() for t in read_tokens(pa.concat_tables([piece, piece.slice(1)]))] == [[1, 2], [3], [3]]
    assert read_tokens(piece.slice(0, 0)) == []
