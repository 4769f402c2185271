"""An entry stands for trials that differ in their seed alone."""

from typing import Any

import pytest

from bv_search.run.folder import Run
from bv_search.run.trial import DONE, TrialRecord
from bv_search.study.entry import Entry, best_entry, entries_of, probes_of
from tests.model.small_run import Small

POOLING = {"head": {"kind": "pooling"}, "learning_rate": 0.01}


def record(seed: int = 0, **said: Any) -> TrialRecord:
    usual = {"status": DONE, "score": 0.5, "report_score": 0.5, "parameters": 10}
    return TrialRecord(id=f"{seed:04d}", config={**POOLING, "seed": seed}, **{**usual, **said})


def entry(run: Run, *records: TrialRecord, title: str = "it") -> Entry:
    return Entry(run=run, stage=1.0, title=title, records=records)


def test_its_figures_are_means_of_the_seeds(run: Run) -> None:
    both = entry(
        run,
        record(0, score=0.6, report_score=0.5, interval=(0.4, 0.6), metrics={"f1": 0.5}),
        record(1, score=0.8, report_score=0.7, interval=(0.6, 0.8), metrics={"f1": 0.7}),
    )
    assert both.select == pytest.approx(0.7)
    assert both.report == pytest.approx(0.6)
    assert both.interval == pytest.approx((0.5, 0.7))
    assert both.metrics == {"f1": pytest.approx(0.6)}
    assert both.spread == pytest.approx(0.2 / 2**0.5)


def test_one_seed_has_no_spread_and_no_draws_no_error(run: Run) -> None:
    alone = entry(run, record())
    assert alone.spread is None
    assert alone.interval is None
    assert alone.error == 0.0


def test_the_error_is_of_the_mean_of_the_seeds_draw_by_draw(run: Run) -> None:
    opposite = entry(run, record(0, draws=(0.4, 0.6)), record(1, draws=(0.6, 0.4)))
    assert opposite.error == pytest.approx(0.0)
    assert entry(run, record(0, draws=(0.4, 0.6))).error == pytest.approx(0.2 / 2**0.5)


def test_of_equals_the_smaller_is_the_best(run: Run) -> None:
    large, small = entry(run, record(parameters=20)), entry(run, record(parameters=5))
    better = entry(run, record(score=0.6, parameters=99))
    assert best_entry([large, small]) is small
    assert best_entry([large, small, better]) is better


def test_heads_that_differ_in_their_seed_alone_are_one_entry(run: Run) -> None:
    """The ladder's rungs are none, and one that failed is left out."""
    finish = next(each for each in run.events() if each["event"] == "finish" and each["trial"] == "0001")
    config = next(each.config for each in run.trials() if each.id == "0001")
    for trial, seed in (("0010", 5), ("0011", 3)):
        run.journal.append({"event": "suggest", "trial": trial, "config": {**config, "seed": seed}})
        run.journal.append({**finish, "trial": trial})
    run.journal.append({"event": "suggest", "trial": "0012", "config": {**config, "seed": 9}})
    run.journal.append({"event": "finish", "trial": "0012", "status": "failed", "reason": "diverged"})
    found = entries_of(run, 1.0)
    assert [[each.id for each in entry.records] for entry in found] == [
        ["0001", "0011", "0010"],
        ["0002"],
        ["0003"],
    ]
    assert found[0].title == "learned pooling"


def test_probes_are_named_after_what_they_read(small: Small) -> None:
    channels = small.store.manifest.layers
    titles = [each.title for each in probes_of(small.run, 1.0, channels)]
    assert titles[:2] == ["linear probe of embeddings", "linear probe of layer 1"]
    assert titles[-1] == "linear probe of all layers"
