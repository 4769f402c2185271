import numpy as np
import pytest

from bv_search.errors import UserError
from bv_search.model.combine import Method, alone_words, combine
from bv_search.tasks.task import Kind


def softmax(values: np.ndarray) -> np.ndarray:
    powers = np.exp(values - values.max(axis=0))
    return np.asarray(powers / powers.sum(axis=0))


@pytest.fixture
def spans() -> list[list[np.ndarray]]:
    rng = np.random.default_rng(0)
    return [[rng.normal(size=(tokens, 2)).astype(np.float32) for tokens in (5, 1, 9)] for _ in range(3)]


def test_the_maximum_of_spans_is_the_source_works(spans: list[list[np.ndarray]]) -> None:
    found = combine(Method.MAX, spans, Kind.SPAN)
    for window in range(3):
        expected = np.max([softmax(model[window]) for model in spans], axis=0)
        np.testing.assert_allclose(np.exp(found[window]), expected, rtol=1e-5)
        assert np.array_equal(found[window].argmax(axis=0), expected.argmax(axis=0))


def test_a_position_that_one_model_is_sure_of_wins() -> None:
    sure = np.array([[0, 0], [9, 0], [0, 9]], np.float32)
    unsure = np.array([[1, 1], [0, 0], [0, 0]], np.float32)
    assert combine(Method.MAX, [[sure], [unsure]], Kind.SPAN)[0].argmax(axis=0).tolist() == [1, 2]


def test_a_mean_weighs_its_members(spans: list[list[np.ndarray]]) -> None:
    found = combine(Method.GREEDY, spans[:2], Kind.SPAN, [3.0, 1.0])
    expected = 0.75 * softmax(spans[0][2]) + 0.25 * softmax(spans[1][2])
    np.testing.assert_allclose(np.exp(found[2]), expected, rtol=1e-5)


def test_classes_are_combined_as_probabilities() -> None:
    one, two = np.array([2.0, 0.0, 0.0], np.float32), np.array([0.0, 0.0, 5.0], np.float32)
    (found,) = combine(Method.MEAN, [[one], [two]], Kind.CLASSIFICATION)
    np.testing.assert_allclose(np.exp(found), (softmax(one) + softmax(two)) / 2, rtol=1e-5)


def test_values_are_averaged_as_they_are_and_have_no_maximum() -> None:
    members = [[np.array([1.0], np.float32)], [np.array([4.0], np.float32)]]
    assert combine(Method.MEAN, members, Kind.REGRESSION, [2.0, 1.0])[0].tolist() == [2.0]
    with pytest.raises(UserError, match="cannot combine a regression task by max"):
        combine(Method.MAX, members, Kind.REGRESSION)


def test_a_single_member_stays_as_it_is(spans: list[list[np.ndarray]]) -> None:
    assert combine(Method.MAX, spans[:1], Kind.SPAN) == spans[0]


def test_certainty_does_not_become_infinite() -> None:
    sure = np.array([[200.0, 200.0], [-200.0, -200.0]], np.float32)
    assert np.isfinite(combine(Method.MAX, [[sure], [sure]], Kind.SPAN)[0]).all()


def test_of_a_model_that_was_chosen_alone_no_more_is_said_than_was_looked_at() -> None:
    assert alone_words("a", ["single"]) == "adding any one model to a did not lower the loss"
    assert alone_words("a", ["single", "greedy"]) == alone_words("a", [])
    assert alone_words("a", ["single", "mean"]).startswith("no mean of the best models had a lower loss")
    assert alone_words("a", ["single", "max"]).startswith("no maximum of the best models scored higher")
