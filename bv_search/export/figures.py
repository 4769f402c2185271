"""What an exported model is worth: its scores, what stands beside it, and which rows said so."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from bv_search.model import ENSEMBLE
from bv_search.model.combine import Method
from bv_search.model.loading import find_trial
from bv_search.model.model import ENCODER_NAME
from bv_search.model.standings import Standing, compare
from bv_search.run.choosers import Choosers, describe
from bv_search.run.folder import Run
from bv_search.run.leaderboard import describe as describe_config
from bv_search.run.trial import TrialRecord
from bv_search.scan.store_view import doubts
from bv_search.store.store import Store

COMBINED = "ensemble"  # the role of it among the standings


@dataclass(frozen=True, kw_only=True)
class Line:
    """The scores of a model on report, which nothing was chosen on."""

    title: str
    score: float
    interval: tuple[float, float]
    metrics: Mapping[str, float]
    parameters: int | None
    select_score: float | None

    @classmethod
    def of_standing(cls, standing: Standing) -> Self:
        named = not standing.is_rung and standing.trial is not None
        return cls(
            title=f"{standing.title}, trial {standing.trial}" if named else standing.title,
            score=standing.score,
            interval=standing.interval,
            metrics=standing.evaluation.metrics,
            parameters=standing.parameters,
            select_score=standing.select_score,
        )

    @classmethod
    def of_record(cls, record: TrialRecord, name: str) -> Self:
        assert record.report_score is not None, "a finished trial has a score"
        assert record.interval is not None, "and its interval"
        return cls(
            title=name,
            score=record.report_score,
            interval=record.interval,
            metrics=record.metrics,
            parameters=record.parameters,
            select_score=record.score,
        )


@dataclass(frozen=True, kw_only=True)
class Figures:
    own: Line
    others: tuple[Line, ...]  # the ladder, and what was found above it
    head: str | None  # the configuration, of a single head
    metric: str
    rows: int  # of report
    chosen_on: str
    heads: int  # that it was chosen among
    encoder_parameters: int  # 0: nobody knows
    doubts: tuple[str, ...]

    @classmethod
    def of(cls, run: Run, store: Store, member: str) -> Self:
        compared, (home, trial) = compare(run, store).all, _trial(run, member)
        mine = next((each for each in compared if home is run and _is(each, trial)), None)
        record = next((each for each in home.finished_trials() if each.id == trial), None)
        if mine is not None:
            own = Line.of_standing(mine)
        else:
            assert record is not None, "what is no trial has a standing"
            own = Line.of_record(record, f"trial {trial}" if home is run else f"trial {trial} of {home.name}")
        return cls(
            own=own,
            others=tuple(Line.of_standing(each) for each in compared if each is not mine),
            head=None if record is None else describe_config(record.config),
            metric=store.task.metric,
            rows=len(compared[0].evaluation.rows),
            chosen_on=_chosen_on(home, store, trial),
            heads=len(home.finished_trials()),
            encoder_parameters=store.encoder_parameters,
            doubts=tuple(doubts(store)),
        )


def _trial(run: Run, member: str) -> tuple[Run, str]:
    """The trial that a member is, of whichever run, or else that it is the ensemble, or the encoder."""
    if member != ENSEMBLE:
        return run, find_trial(run, member)
    chosen = run.ensemble()
    if chosen is None or chosen["method"] != Method.SINGLE:
        return run, COMBINED
    (alone,) = chosen["members"]
    return run.at(alone["run"]), alone["trial"] or ENCODER_NAME


def _is(standing: Standing, trial: str) -> bool:
    return standing.trial == trial if standing.trial is not None else standing.role == trial


def _chosen_on(run: Run, store: Store, trial: str) -> str:
    chosen = run.ensemble()
    if trial == COMBINED and chosen is not None:
        return describe(chosen["chosen_on"])
    return str(Choosers.of_folds(store, run.study.folds))
