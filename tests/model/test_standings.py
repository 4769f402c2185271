"""The ladder and what stands on it, of a small run for spans."""

from dataclasses import replace
from pathlib import Path

import pytest

from bv_search.model import standings as module
from bv_search.model.standings import (
    BEST,
    ENSEMBLE,
    SMALLEST,
    Standings,
    compare,
    compare_ladder,
    gain_sentence,
    standings_text,
)
from bv_search.run import Run
from bv_search.run.ensemble_file import ENSEMBLE_VERSION
from bv_search.scan.ladder import ENCODER, MAJORITY, PROBE
from bv_search.tasks.evaluation import Delta, Evaluation, difference
from bv_search.tasks.registry import find_task
from tests.model.small_run import Small, bag, make_run, make_store, teach


def combine_heads(run: Run, *trials: str) -> None:
    members = [{"name": trial, "run": ".", "trial": trial, "weight": 1.0} for trial in trials]
    chosen = {"method": "mean", "members": members, "select_score": 0.5, "score": 0.5}
    run.write_ensemble({"format_version": ENSEMBLE_VERSION, **chosen})


def sentence(standings: Standings, role: str = BEST) -> str:
    standing = standings.of(role)
    assert standing is not None
    return gain_sentence(standings, standing)


def test_the_ladder_comes_first_and_the_ensemble_last(small: Small, run: Run) -> None:
    teach(small, run, "0003", 0.9)
    combine_heads(run, "0001", "0003")
    standings = compare(run, small.store)
    assert [each.role for each in standings.all] == [MAJORITY, ENCODER, PROBE, BEST, ENSEMBLE]
    assert standings.ladder == standings.all[:3]
    assert [each.title for each in standings.ladder] == ["majority", "encoder", "best linear probe"]
    assert [each.is_found for each in standings.all] == [False, False, False, True, True]
    assert [each.role for each in compare_ladder(run, small.store).all] == [MAJORITY, ENCODER, PROBE]


def test_where_no_combination_is_better_that_is_said(small: Small, run: Run) -> None:
    member = {"name": "0001", "run": ".", "trial": "0001", "weight": 1.0}
    chosen = {"method": "single", "members": [member], "select_score": 0.5, "score": 0.5}
    run.write_ensemble({"format_version": ENSEMBLE_VERSION, **chosen})
    standings = compare(run, small.store)
    assert standings.of(ENSEMBLE) is None
    said = "On the rows that choose, adding any one model to 0001 did not lower the loss."
    assert said in standings_text(standings, "f1")
    considered = [{"method": method, "members": 1, "select_score": 0.5} for method in ("single", "max")]
    run.write_ensemble({"format_version": ENSEMBLE_VERSION, **chosen, "considered": considered})
    said = "no maximum of the best models scored higher than 0001 alone"
    assert said in standings_text(compare(run, small.store), "f1")


def test_of_several_probes_select_chooses_the_one_that_is_shown(small: Small, run: Run) -> None:
    teach(small, run, "probe-1", 0.7)
    probe = compare(run, small.store).of(PROBE)
    assert probe is not None
    assert (probe.trial, probe.select_score) == ("probe-1", run.finished_trials()[0].score)


def test_the_encoder_is_judged_by_the_rows_that_judge_heads(small: Small, run: Run) -> None:
    """As the study has it; the store knows of no folds."""
    run.change_study(baseline={**(run.study.baseline or {}), "select_score": 0.123})
    encoder = compare(run, small.store).of(ENCODER)
    assert encoder is not None
    assert encoder.select_score == 0.123


def test_each_stands_beside_the_one_below_it(small: Small, run: Run) -> None:
    teach(small, run, "0003", 0.9)
    teach(small, run, "0001", 0.89)
    combine_heads(run, "0001", "0003")
    standings = compare(run, small.store)
    over = {each.role: each.below.over.role for each in standings.all if each.below is not None}
    assert over == {ENCODER: MAJORITY, PROBE: ENCODER, BEST: PROBE, SMALLEST: BEST, ENSEMBLE: BEST}
    for each in standings.all:
        if each.below is not None:
            assert each.below.delta.value == pytest.approx(each.score - each.below.over.score)
            assert each.below.delta.low <= each.below.delta.value <= each.below.delta.high


def test_a_gain_is_drawn_once_however_many_ask(
    small: Small, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    teach(small, run, "0003", 0.9)
    standings, drawn = compare(run, small.store), list[tuple[Evaluation, Evaluation]]()

    def watched(ours: Evaluation, theirs: Evaluation) -> Delta:
        drawn.append((ours, theirs))
        return difference(ours, theirs)

    monkeypatch.setattr(module, "difference", watched)
    best, rung = standings.of(BEST), standings.of(MAJORITY)
    assert best is not None
    assert rung is not None
    for _ in range(3):
        assert standings.gain(best.evaluation) != standings.gain(rung.evaluation)
    assert len(drawn) == 2


def test_a_gain_is_what_is_above_the_best_rung_for_certain(small: Small, run: Run) -> None:
    teach(small, run, "0003", 0.9)
    standings = compare(run, small.store)
    highest = standings.highest
    assert highest is not None
    assert highest.score == max(each.score for each in standings.ladder)
    assert sentence(standings).startswith("The best head is a gain: +")
    assert sentence(standings).endswith(f") over the {highest.title}, the best of the ladder.")
    assert "The best head is a gain" in standings_text(standings, "f1")


def test_whatever_is_not_above_the_best_rung_is_no_gain(small: Small, run: Run) -> None:
    teach(small, run, "probe-1", 0.9)
    teach(small, run, "0003", 0.9)
    combine_heads(run, "0003", "probe-1")
    standings = compare(run, small.store)
    assert sentence(standings, ENSEMBLE).startswith(
        "The ensemble is a tie, and no gain: +0.0000 (+0.0000 to +0.0000)"
    )


def test_where_a_rung_is_the_best_head_it_is_said(small: Small, run: Run) -> None:
    teach(small, run, "probe-1", 0.9)
    standings = compare(run, small.store)
    best = standings.of(BEST)
    assert best is not None
    assert (best.trial, best.is_found) == ("probe-1", False)
    assert sentence(standings) == (
        "The best head is a rung of the ladder: no searched head did better on select."
    )


def test_the_mean_of_a_finalists_copies_is_the_best_head(small: Small, run: Run) -> None:
    teach(small, run, "0003", 0.9)
    bag(run, "0003")
    best = compare(run, small.store).of(BEST)
    assert best is not None
    assert (best.trial, best.is_found, best.select_score) == ("0003-bagged", True, small_score(run, "0003"))


def test_a_rung_that_is_the_best_stays_it(small: Small, run: Run) -> None:
    teach(small, run, "probe-1", 0.9)
    bag(run, "0003")
    standings = compare(run, small.store)
    assert sentence(standings).startswith("The best head is a rung of the ladder")


def test_luck_stands_beside_the_best_head(small: Small, run: Run) -> None:
    teach(small, run, "0003", 0.9)
    bag(run, "0003")
    standings = compare(run, small.store)
    lines = standings_text(standings, "f1").splitlines()
    place = next(number for number, line in enumerate(lines) if line.startswith("  best head"))
    assert standings.luck is not None
    assert standings.luck.heads == len(run.trials()) - 2
    assert lines[place + 1].strip() == str(standings.luck)


def small_score(run: Run, trial: str) -> float | None:
    return next(record.score for record in run.trials() if record.id == trial)


def test_without_a_ladder_nothing_is_called_a_gain(small: Small) -> None:
    heads = Standings(all=[replace(each, below=None) for each in compare(small.run, small.store).all[3:]])
    assert sentence(heads) == "Whether the best head is a gain is not known: the run has no linear probes."


def test_an_encoder_without_predictions_is_no_rung(
    tiny_encoder: Path, generated_data: Path, tmp_path: Path
) -> None:
    store = make_store(
        find_task("squad2-span"), tiny_encoder, generated_data, tmp_path / "store", tokens="all"
    )
    standings = compare(make_run(store, tmp_path / "runs" / "first"), store)
    assert [each.role for each in standings.ladder] == [MAJORITY, PROBE]
    assert {each.delta for each in standings.all} == {None}
    probe = standings.of(PROBE)
    assert probe is not None
    assert probe.below is not None
    assert probe.below.over.role == MAJORITY
