from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from bv_search.report.effects import find_effects
from bv_search.run import TrialRecord


def trials(configs: Sequence[dict[str, Any]], scores: Sequence[float]) -> list[TrialRecord]:
    return [
        TrialRecord(id=str(number), config=config, status="done", score=score, report_score=score)
        for number, (config, score) in enumerate(zip(configs, scores, strict=True))
    ]


def test_what_decides_the_score_explains_all_of_it() -> None:
    configs = [{"head": {"skip": bool(n % 2), "shared": n < 4}} for n in range(8)]
    skip, shared = find_effects(trials(configs, [0.5 + 0.1 * (n % 2) for n in range(8)]))
    assert [skip.name, shared.name] == ["skip", "shared"]
    assert [skip.share, shared.share] == pytest.approx([1.0, 0.0])
    assert [(group.label, group.trials) for group in skip.groups] == [("false", 4), ("true", 4)]
    assert [group.mean for group in skip.groups] == pytest.approx([0.5, 0.6])


def test_many_numbers_are_cut_into_thirds_in_their_order() -> None:
    configs = [{"learning_rate": 10.0**-n} for n in range(9)]
    (effect,) = find_effects(trials(configs, [0.1 * n for n in range(9)]))
    assert [group.trials for group in effect.groups] == [3, 3, 3]
    assert [group.mean for group in effect.groups] == sorted(
        (group.mean for group in effect.groups), reverse=True
    )
    assert effect.groups[0].label.startswith("up to ")
    assert effect.chance == pytest.approx(2 / 8)


def test_few_numbers_stand_for_themselves_in_their_order() -> None:
    configs = [{"size": size} for size in (16, 128, 64, 16, 128, 64)]
    (effect,) = find_effects(trials(configs, [0.1, 0.5, 0.4, 0.2, 0.6, 0.3]))
    assert [group.label for group in effect.groups] == ["16", "64", "128"]


def test_nothing_is_said_of_few_trials_or_of_what_never_varied() -> None:
    assert find_effects(trials([{"size": n} for n in range(5)], [0.1, 0.2, 0.3, 0.4, 0.5])) == []
    assert find_effects(trials([{"size": 16}] * 8, [0.1 * n for n in range(8)])) == []


def test_trials_that_were_stopped_early_do_not_count_where_there_are_others() -> None:
    done = trials([{"size": 16 if n < 3 else 64} for n in range(6)], [0.5] * 3 + [0.6] * 3)
    stopped = [TrialRecord(id="s", config={"size": 64}, status="stopped", score=0.0, report_score=0.0)]
    (effect,) = find_effects(done + stopped)
    assert effect.trials == 6
    assert effect.share == pytest.approx(1.0)


def test_rungs_of_the_ladder_are_no_draws_of_the_space() -> None:
    drawn = trials([{"head": {"size": 16 if n < 3 else 64}} for n in range(6)], [0.5] * 3 + [0.6] * 3)
    rungs = [replace(each, id=f"probe-{each.id}", rung="probe", score=0.1) for each in drawn]
    (effect,) = find_effects(drawn + rungs)
    assert effect.trials == 6
    assert find_effects(drawn[:5] + rungs) == []


@pytest.mark.parametrize("count", [6, 7, 13])
def test_where_all_score_alike_nothing_has_an_effect(count: int) -> None:
    configs = [{"rate": n % 3} for n in range(count)]
    assert find_effects(trials(configs, [0.68382] * count)) == []
