"""Copies of a head answer together: the mean of their probabilities, or of their values."""

import numpy as np
import pytest

from bv_search.tasks.task import Kind
from bv_search.tasks.votes import Logits, Votes, mean_logits


def softmax(values: np.ndarray, axis: int) -> np.ndarray:
    powers = np.exp(values - values.max(axis=axis, keepdims=True))
    return np.asarray(powers / powers.sum(axis=axis, keepdims=True))


def said(kind: Kind, copies: int) -> list[Logits]:
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
