"""Of the heads that come to a rung the best third goes on."""

from random import Random
from typing import Any

import pytest

from bv_search.scan.checks import Check
from bv_search.scan.trial import TrialConfig
from bv_search.tune.halving import Halving
from bv_search.tune.packing import Rungs, plan_rungs

WINDOWS = 3300


def config(**settings: object) -> TrialConfig:
    return TrialConfig.from_json({"head": {"kind": "pooling"}, **settings})


@pytest.fixture
def rungs() -> Rungs:
    return plan_rungs([config()], WINDOWS, halving=True, one_token=False)


def check(position: int, score: float, loss: float = 0.5) -> Check:
    return Check(position=position, rows=16 * position, score=score, loss=loss)


def hear(halving: Halving, name: str, found: Check, *, done: bool = False, **settings: Any) -> None:
    halving.hear(name, config(**settings), found, position=found.position, done=done)


def judge(halving: Halving, position: int, scores: dict[str, float], **settings: Any) -> list[str]:
    """Heads that came to a rung together, asked in any order: those that go on."""
    for name, score in scores.items():
        hear(halving, name, check(position, score), **settings)
    return going(halving, position, scores)


def going(halving: Halving, position: int, names: Any) -> list[str]:
    shuffled = Random(0).sample(list(names), len(names))
    return sorted(name for name in shuffled if halving.goes_on(name, position))


@pytest.mark.parametrize(("heads", "number"), [(1, 1), (2, 1), (3, 1), (4, 2), (9, 3), (32, 11)])
def test_of_a_pack_the_best_third_goes_on_at_every_rung(rungs: Rungs, heads: int, number: int) -> None:
    halving = Halving(rungs)
    scores = {f"{head:02}": -float(head) for head in range(heads)}
    places = rungs.of(config())
    assert len(places) == 4
    for position in places:
        assert judge(halving, position, scores) == sorted(scores)[:number]


def test_those_that_come_later_are_judged_among_all(rungs: Rungs) -> None:
    halving, first = Halving(rungs), rungs.of(config())[0]
    assert judge(halving, first, {"a": 0.9, "b": 0.8, "c": 0.1}) == ["a"]
    assert judge(halving, first, {"d": 0.85, "e": 0.2, "f": 0.3}) == ["d"]
    assert judge(halving, first, {"g": 0.5}) == []


def test_of_equal_heads_all_go_on(rungs: Rungs) -> None:
    assert judge(Halving(rungs), rungs.of(config())[0], dict.fromkeys("abcdef", 0.5)) == list("abcdef")


def test_of_equal_scores_the_lower_loss_is_better(rungs: Rungs) -> None:
    halving, first = Halving(rungs), rungs.of(config())[0]
    losses = {"a": 0.5, "b": 0.1, "c": 0.5, "d": 0.2, "e": 0.5, "f": 0.3}
    for name, loss in losses.items():
        hear(halving, name, check(first, 0.8, loss))
    assert going(halving, first, losses) == ["b", "d"]
    hear(halving, "g", check(first, 0.81, 9.0))
    assert going(halving, first, "g") == ["g"], "the score comes first"


def test_a_place_that_is_no_rung_judges_nobody(rungs: Rungs) -> None:
    assert judge(Halving(rungs), rungs.of(config())[0] + 1, {"a": 0.9, "b": 0.1}) == ["a", "b"]
    none = plan_rungs([config()], WINDOWS, halving=False, one_token=False)
    assert judge(Halving(none), rungs.of(config())[0], {"a": 0.9, "b": 0.1}) == ["a", "b"]


@pytest.mark.parametrize(
    ("own", "others"),
    [
        ({"data_fraction": 0.333}, {"data_fraction": 1.0}),
        ({"passes": 2}, {"passes": 12}),
        ({"passes": 2}, {"passes": "auto"}),
    ],
)
def test_heads_that_answer_another_question_are_no_rivals(
    rungs: Rungs, own: dict[str, object], others: dict[str, object]
) -> None:
    """On other rows, or for another fixed time."""
    halving = Halving(rungs)
    shared = set(rungs.of(config(**own))) & set(rungs.of(config(**others)))
    assert shared
    for position in shared:
        assert judge(halving, position, {"good": 0.9, "better": 0.99, "best": 1.0}, **others) == ["best"]
        assert judge(halving, position, {"alone": 0.1}, **own) == ["alone"]


def test_heads_of_other_rates_batches_and_inputs_are_rivals(rungs: Rungs) -> None:
    halving, place = Halving(rungs), rungs.of(config(batch=48))[1]
    assert place in rungs.of(config())
    hear(halving, "a", check(place, 0.9), learning_rate=0.1)
    hear(halving, "b", check(place, 0.8), batch=48)
    hear(halving, "c", check(place, 0.7), inputs="raw", patience=2)
    assert going(halving, place, "abc") == ["a"]


def test_heads_that_have_learned_count_at_all_rungs_that_they_need_not_go_to(rungs: Rungs) -> None:
    halving, (_, second, third, _) = Halving(rungs), rungs.of(config())
    for name, score in (("a", 0.9), ("b", 0.8), ("c", 0.2)):
        hear(halving, name, check(second + 1, score), done=True)

    assert judge(halving, second, {"x": 0.5}) == ["x"], "they were not known where they passed by"
    assert judge(halving, third, {"y": 0.5}) == []
    assert judge(halving, third, {"z": 0.95}) == ["z"]


def test_a_head_counts_where_it_is_and_not_where_it_may_come_to(rungs: Rungs) -> None:
    halving, (first, second, *_) = Halving(rungs), rungs.of(config())
    assert judge(halving, first, {"a": 0.9, "b": 0.8, "c": 0.7}) == ["a"]
    assert judge(halving, second, {"d": 0.1}) == ["d"]


def test_what_is_spared_goes_on_whatever_it_scores_and_is_no_measure(rungs: Rungs) -> None:
    halving, first = Halving(rungs, spared=["probe-all", "probe-0"]), rungs.of(config())[0]
    hear(halving, "probe-all", check(first, 1.0), done=True)
    assert judge(halving, first, {"probe-0": 0.01, "a": 0.3, "b": 0.2, "c": 0.1}) == ["a", "probe-0"]


def test_one_that_was_never_heard_goes_on(rungs: Rungs) -> None:
    assert going(Halving(rungs), rungs.of(config())[0], ["new"]) == ["new"]
