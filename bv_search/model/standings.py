"""The standings of a run: from what needs no search up to what the search found, each beside the one below.

All scores are of report rows, which nothing was selected on. What is compared was chosen on select.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bv_search.encoder.stage import epochs
from bv_search.model.combine import Method, alone_words, combine
from bv_search.run.folder import Run
from bv_search.run.leaderboard import describe, smallest
from bv_search.run.luck import Luck
from bv_search.run.predictions import predictions_file, read_predictions
from bv_search.run.roles import encoder_logits, role_ids
from bv_search.run.trial import TrialRecord, percent_of
from bv_search.scan.ladder import ENCODER, MAJORITY, PROBE
from bv_search.scan.store_view import role_index
from bv_search.store.store import Store
from bv_search.tasks.evaluation import TIE, Delta, Evaluation, difference
from bv_search.tasks.row import Role

BEST, SMALLEST, ENSEMBLE = "best head", "smallest head", "ensemble"
LADDER = (MAJORITY, ENCODER, PROBE)


@dataclass(frozen=True, kw_only=True)
class Lead:
    """How far a model is ahead of another, on the same rows."""

    over: "Standing"
    delta: Delta


@dataclass(frozen=True, kw_only=True)
class Standing:
    """A model in the comparison."""

    role: str  # majority, encoder, probe, best head, smallest head or ensemble
    title: str  # of the role, for a reader
    name: str  # which one
    logits: Sequence[np.ndarray]
    evaluation: Evaluation
    interval: tuple[float, float]
    parameters: int | None
    percent: float | None
    select_score: float | None
    below: Lead | None  # None for the lowest
    delta: Delta | None  # against the encoder; None for what is below it, or where it predicts nothing
    is_found: bool  # by a search, which rungs are not, even where one is the best head
    trial: str | None = None

    @property
    def score(self) -> float:
        return self.evaluation.score

    @property
    def is_rung(self) -> bool:
        return self.role in LADDER


@dataclass(kw_only=True)
class Standings:
    """From below: the ladder, the best head, the smallest one that is as good, the ensemble."""

    all: list[Standing]
    luck: Luck | None = None  # of the best head
    unbeaten: str | None = None  # what was tried in vain, where an ensemble came to one model
    _gains: dict[tuple[int, int], tuple[Evaluation, Lead | None]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @property
    def ladder(self) -> list[Standing]:
        return [standing for standing in self.all if standing.is_rung]

    def of(self, role: str) -> Standing | None:
        return next((standing for standing in self.all if standing.role == role), None)

    @property
    def highest(self) -> Standing | None:
        """The best rung of the ladder, on report: whoever is compared with it has no advantage.

        None of a run without linear probes: it does not know what can be had without a search.
        """
        if self.of(PROBE) is None:
            return None
        return max(self.ladder, key=lambda standing: standing.score)

    def gain(self, evaluation: Evaluation) -> Lead | None:
        """Over the ladder's best: nothing else is called one. Many ask, and it is drawn once."""
        over = self.highest
        key = id(evaluation), id(over)  # both are kept, so that no other has these
        if key not in self._gains:
            self._gains[key] = evaluation, lead(evaluation, over)
        return self._gains[key][1]


def lead(evaluation: Evaluation, over: Standing | None) -> Lead | None:
    return None if over is None else Lead(over=over, delta=difference(evaluation, over.evaluation))


def compare(run: Run, store: Store) -> Standings:
    """Read a run and its store's index; no hidden state is touched. At least one head has finished."""
    panel = _Panel(run, store)
    panel.add_ladder()
    panel.add_heads()
    panel.add_ensemble()
    return panel.standings


def compare_ladder(run: Run, store: Store) -> Standings:
    """The rungs alone."""
    panel = _Panel(run, store)
    panel.add_ladder()
    return panel.standings


class _Panel:
    """The models of a comparison, added from below."""

    def __init__(self, run: Run, store: Store) -> None:
        self._run, self._store = run, store
        self._index, self._ids = role_index(store, Role.REPORT), role_ids(store, Role.REPORT)
        self._own = encoder_logits(store, Role.REPORT)
        self._ranked = run.finished_trials()
        self.standings = Standings(all=[], luck=Luck.of(self._ranked))

    def add_ladder(self) -> None:
        self._add_rung(MAJORITY)
        self._add_encoder()
        self._add_rung(PROBE)

    def add_heads(self) -> None:
        top, small = self._ranked[0], smallest(self._ranked)
        self._add_head(BEST, top)
        if small.id != top.id:
            self._add_head(SMALLEST, small)

    def add_ensemble(self) -> None:
        chosen = self._run.ensemble()
        if chosen is None:
            return
        members = chosen["members"]
        if chosen["method"] == Method.SINGLE:
            tried = (each["method"] for each in chosen.get("considered", ()))
            self.standings.unbeaten = alone_words(members[0]["name"], tried)
            return
        logits = combine(
            Method(chosen["method"]),
            [self._of_member(member) for member in members],
            self._store.task.kind,
            [member["weight"] for member in members],
        )
        names = ", ".join(member["name"] for member in members)
        self._add(ENSEMBLE, f"{chosen['method']} of {names}", logits, select_score=chosen["select_score"])

    def _add_rung(self, rung: str) -> None:
        """Of several probes the one that select likes best."""
        climbed = [record for record in self._ranked if record.rung == rung]
        if climbed:
            self._add_head(rung, climbed[0])

    def _add_encoder(self) -> None:
        if self._own is None:
            return
        entry, baseline = self._store.manifest.encoder, self._run.study.baseline
        stage = "" if entry.fraction is None else f", fine-tuned for {epochs(entry.fraction)}"
        self._add(
            ENCODER,
            f"{entry.id}{stage}",
            self._own,
            parameters=self._store.encoder_parameters,
            select_score=None if baseline is None else baseline["select_score"],
        )

    def _add_head(self, role: str, record: TrialRecord) -> None:
        self._add(
            role,
            f"trial {record.id}: {describe(record.config)}",
            self._of_trial(self._run, record.id),
            parameters=record.parameters,
            select_score=record.score,
            record=record,
        )

    def _add(
        self,
        role: str,
        name: str,
        logits: Sequence[np.ndarray],
        *,
        select_score: float | None,
        parameters: int | None = None,
        record: TrialRecord | None = None,
    ) -> None:
        evaluation, encoder = self._store.task.evaluate(self._index, logits), self.standings.of(ENCODER)
        self.standings.all.append(
            Standing(
                role=role,
                title=self._title(role),
                name=name,
                logits=logits,
                evaluation=evaluation,
                interval=record.interval if record and record.interval else evaluation.interval(),
                parameters=parameters,
                percent=percent_of(parameters, self._store.encoder_parameters),
                select_score=select_score,
                below=lead(evaluation, self._below(role)),
                delta=None if encoder is None else difference(evaluation, encoder.evaluation),
                is_found=role == ENSEMBLE if record is None else record.rung is None,
                trial=record.id if record else None,
            )
        )

    def _title(self, role: str) -> str:
        if role == MAJORITY:
            return self._store.task.majority
        return "best linear probe" if role == PROBE else role

    def _below(self, role: str) -> Standing | None:
        """The ensemble stands on the best head, and so does the smallest."""
        if role in (SMALLEST, ENSEMBLE):
            return self.standings.of(BEST)
        return self.standings.all[-1] if self.standings.all else None

    def _of_member(self, member: Mapping[str, Any]) -> Sequence[np.ndarray]:
        if member["trial"] is None:
            assert self._own is not None, "an ensemble's encoder has predictions"
            return self._own
        return self._of_trial(self._run.at(member["run"]), member["trial"])

    def _of_trial(self, home: Run, trial: str) -> Sequence[np.ndarray]:
        return read_predictions(home.trial_file(trial, predictions_file(Role.REPORT)), ids=self._ids).logits


def standings_text(standings: Standings, metric: str) -> str:
    """For a terminal: every rung with its interval, and the paired difference to the one below."""
    shown = [standing for standing in standings.all if standing.role != SMALLEST]
    width = max(len(standing.title) for standing in shown)
    lines = [f"{metric} on report rows, 95 % intervals; each beside the one below it"]
    for standing in shown:
        lines.append(_line(standing, width))
        if standing.role == BEST and standings.luck is not None:
            lines.append(f"  {'':<{width}}  {standings.luck}")
    lines += [gain_sentence(standings, each) for each in shown if not each.is_rung]
    if standings.unbeaten is not None:
        lines.append(f"On the rows that choose, {standings.unbeaten}.")
    return "\n".join(lines)


def gain_sentence(standings: Standings, standing: Standing) -> str:
    """Whether a search was worth its while."""
    gain = standings.gain(standing.evaluation)
    if gain is None:
        return f"Whether the {standing.title} is a gain is not known: the run has no linear probes."
    if standing.trial is not None and standing.trial == gain.over.trial:
        return f"The {standing.title} is a rung of the ladder: no searched head did better on select."
    return f"The {standing.title} is {gain_words(gain)}."


def gain_words(gain: Lead) -> str:
    """No more than the interval allows."""
    word = {"better": "a gain", TIE: "a tie, and no gain", "worse": "worse, and no gain"}[gain.delta.word]
    return f"{word}: {gain.delta} over the {gain.over.title}, the best of the ladder"


def _line(standing: Standing, width: int) -> str:
    low, high = standing.interval
    text = f"  {standing.title:<{width}}  {standing.score:.4f} [{low:.4f}, {high:.4f}]"
    if (below := standing.below) is not None:
        text += f"  {below.delta} {below.delta.beside(f'the {below.over.title}')}"
    if standing.parameters is not None:
        text += f", {standing.parameters:,} parameter{'' if standing.parameters == 1 else 's'}"
    return text
