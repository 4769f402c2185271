"""Copies of a head answer together: the mean of their probabilities, or of their values."""

import numpy as np
import pytest
import torch

from bv_search.scan.loss import LOSSES
from bv_search.tasks.task import Kind
from bv_search.tasks.votes import RoleLogits, Votes, loss_of, mean_logits, mean_of


def softmax(values: np.ndarray, axis: int) -> np.ndarray:
    powers = np.exp(values - values.max(axis=axis, keepdims=True))
    return np.asarray(powers / powers.sum(axis=axis, keepdims=True))


def said(kind: Kind, copies: int) -> list[RoleLogits]:
    """What copies say of three windows."""
    rng = np.random.default_rng(0)
    if kind is Kind.SPAN:
        return [[rng.normal(size=(n, 2)).astype(np.float32) for n in (5, 1, 9)] for _ in range(copies)]
    width = 1 if kind is Kind.REGRESSION else 4
    return [rng.normal(size=(3, width)).astype(np.float32) for _ in range(copies)]


def test_the_mean_of_classes_is_that_of_their_probabilities() -> None:
    copies = said(Kind.CLASSIFICATION, 3)
    mean = mean_logits(copies, Kind.CLASSIFICATION)
    assert isinstance(mean, np.ndarray)
    expected = np.mean([softmax(np.asarray(each), axis=1) for each in copies], axis=0)
    np.testing.assert_allclose(np.exp(mean), expected, rtol=1e-5)


def test_the_mean_of_spans_is_that_of_their_probabilities_in_each_window() -> None:
    copies = said(Kind.SPAN, 3)
    for window, mean in enumerate(mean_logits(copies, Kind.SPAN)):
        expected = np.mean([softmax(each[window], axis=0) for each in copies], axis=0)
        np.testing.assert_allclose(np.exp(mean), expected, rtol=1e-5)


def test_the_mean_of_values_is_their_mean() -> None:
    copies = said(Kind.REGRESSION, 3)
    mean = mean_logits(copies, Kind.REGRESSION)
    np.testing.assert_allclose(mean, np.mean(np.asarray(copies), axis=0), rtol=1e-5)


@pytest.mark.parametrize("kind", Kind)
def test_a_single_copy_says_what_it_says(kind: Kind) -> None:
    (only,) = said(kind, 1)
    assert mean_logits([only], kind) is only


def test_votes_are_the_same_of_one_array_and_of_many() -> None:
    (rows,) = said(Kind.CLASSIFICATION, 1)
    one, many = Votes.of(rows, Kind.CLASSIFICATION), Votes.of(list(rows), Kind.CLASSIFICATION)
    np.testing.assert_array_equal(one.values, many.values)


def labels_of(kind: Kind) -> np.ndarray:
    """Of the three windows."""
    labels = {Kind.SPAN: [[1, 4], [0, 0], [8, 8]], Kind.CLASSIFICATION: [[3], [0], [1]]}
    return np.array(labels.get(kind, [[0.5], [-1.0], [2.0]]), np.float32)


@pytest.mark.parametrize("kind", Kind)
def test_the_loss_is_what_training_minimises(kind: Kind) -> None:
    (logits,) = said(kind, 1)
    labels_ND = labels_of(kind)
    expected = [
        LOSSES[kind](
            torch.from_numpy(np.atleast_2d(each))[None],
            torch.tensor([len(np.atleast_2d(each))]),
            torch.from_numpy(labels_D[None]),
            None,
        )
        for each, labels_D in zip(logits, labels_ND, strict=True)
    ]
    loss = loss_of(Votes.of(logits, kind).truth(labels_ND, kind), kind)
    assert loss == pytest.approx(float(torch.cat(expected).mean()), rel=1e-5)


@pytest.mark.parametrize("kind", Kind)
def test_what_a_mean_gives_to_the_truth_is_the_mean_of_what_its_members_give(kind: Kind) -> None:
    votes = [Votes.of(each, kind) for each in said(kind, 3)]
    weights = [1.0, 2.0, 3.0]
    truths = [each.truth(labels_of(kind), kind) for each in votes]
    expected = np.average(truths, axis=0, weights=weights)
    np.testing.assert_allclose(
        mean_of(votes, weights).truth(labels_of(kind), kind), expected, rtol=1e-4, atol=1e-6
    )
