"""An exported model carries its own scores, and what stands beside it."""

from pathlib import Path

from bv_search.command import Progress
from bv_search.ensemble.config import EnsembleConfig
from bv_search.ensemble.ensemble import run as decide
from bv_search.export.figures import Figures
from bv_search.model import ENSEMBLE
from bv_search.run import Run
from bv_search.run.ensemble_file import ENSEMBLE_VERSION
from tests.model.small_run import Small, copy_run, teach


def test_the_best_head_stands_above_its_ladder(small: Small) -> None:
    figures, best = Figures.of(small.run, small.store, "best"), small.run.finished_trials()[0]
    assert figures.own.score == best.report_score
    assert figures.own.title.endswith(f"trial {best.id}")
    assert [line.title for line in figures.others][:2] == ["majority", "encoder"]
    assert figures.own not in figures.others
    assert figures.encoder_parameters == small.store.encoder_parameters
    assert figures.rows == 80


def test_any_trial_may_be_exported_and_is_named(small: Small) -> None:
    record = min(
        (record for record in small.run.finished_trials() if record.is_searched),
        key=lambda record: record.score or 0.0,
    )
    own = Figures.of(small.run, small.store, record.id).own
    assert (own.score, own.select_score) == (record.report_score, record.score)
    assert record.id in own.title


def test_an_ensemble_says_what_it_was_chosen_on_and_has_no_configuration(small: Small, run: Run) -> None:
    for seed, trial in enumerate(("0001", "0002", "0003")):
        teach(small, run, trial, 0.6, seed)
    result = decide(EnsembleConfig(runs=(str(run.path),), mlflow=False), Progress(quiet=True))
    figures = Figures.of(run, small.store, ENSEMBLE)
    assert figures.own.score == result.evaluation.score
    assert figures.head is None
    assert figures.chosen_on == str(result.chosen_on)


def test_an_ensemble_that_is_one_head_of_another_run_has_the_figures_of_that_head(
    small: Small, run: Run, tmp_path: Path
) -> None:
    """Both runs have a trial of that name."""
    other = copy_run(small, tmp_path / "runs" / "second")
    other.change_study(name="second")
    teach(small, other, "0003", 0.9)
    member = {"name": "second/0003", "run": "../second", "trial": "0003", "weight": 1.0}
    chosen = {"method": "single", "members": [member], "select_score": 0.5, "score": 0.5}
    run.write_ensemble({"format_version": ENSEMBLE_VERSION, **chosen})
    record = next(record for record in other.finished_trials() if record.id == "0003")
    figures = Figures.of(run, small.store, ENSEMBLE)
    assert figures.own.score == record.report_score
    assert figures.own.title == "trial 0003 of second"
    assert len(figures.others) > 3, "all of the run's own stand beside it"
