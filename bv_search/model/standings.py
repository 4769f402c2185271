"""The standings of a run: from what needs no search up to what the search found, each beside the one below.

All scores are of report rows, which nothing was selected on. What is compared was chosen on select.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bv_search.model.combine import Method, combine
from bv_search.run.folder import Run
from bv_search.run.leaderboard import describe, smallest
from bv_search.run.predictions import read_predictions
from bv_search.run.roles import encoder_logits, role_ids
from bv_search.run.trial import TrialRecord, percent_of
from bv_search.scan.ground import role_index
from bv_search.scan.ladder import ENCODER, MAJORITY, PROBE
from bv_search.store.store import Store
from bv_search.tasks.evaluation import Delta, Evaluation, difference
from bv_search.tasks.row import Role

Logits = Sequence[np.ndarray]
BEST, SMALLEST, ENSEMBLE = "best head", "smallest head", "ensemble"
LADDER = (MAJORITY, ENCODER, PROBE)
TITLES = {PROBE: "best linear probe"}


@dataclass(frozen=True, kw_only=True)
class Standing:
    """A model in the comparison."""

    role: str  # majority, encoder, probe, best head, smallest head or ensemble
    name: str  # which one
    logits: Logits
    evaluation: Evaluation
    interval: tuple[float, float]
    parameters: int | None
    percent: float | None
    select_score: float | None
    below: Delta | None  # against the one below it; None for the lowest
    delta: Delta | None  # against the encoder; None for what is below it, or where it predicts nothing
    trial: str | None = None

    @property
    def title(self) -> str:
        return TITLES.get(self.role, self.role)

    @property
    def score(self) -> float:
        return self.evaluation.score

    @property
    def is_rung(self) -> bool:
        return self.role in LADDER


@dataclass(frozen=True, kw_only=True)
class Standings:
    """From below: the ladder, the best head, the smallest one that is as good, the ensemble."""

    all: list[Standing]

    @property
    def ladder(self) -> list[Standing]:
        return [standing for standing in self.all if standing.is_rung]

    def of(self, role: str) -> Standing | None:
        return next((standing for standing in self.all if standing.role == role), None)

    @property
    def highest(self) -> Standing | None:
        """The best rung of the ladder."""
        return max(self.ladder, key=lambda standing: standing.score, default=None)

    def gain(self, standing: Standing) -> Delta | None:
        """Over the ladder's best: nothing else is called one."""
        highest = self.highest
        return None if highest is None else difference(standing.evaluation, highest.evaluation)


def compare(run: Run, store: Store) -> Standings:
    """Read a run and its store's index; no hidden state is touched. At least one head has finished."""
    panel = _Panel(run, store)
    ranked = run.finished_trials()
    for rung in (MAJORITY, ENCODER, PROBE):
        if rung == ENCODER:
            panel.add_encoder()
        elif climbed := [record for record in ranked if record.rung == rung]:
            panel.add_head(rung, climbed[0])
    top, small = ranked[0], smallest(ranked)
    panel.add_head(BEST, top)
    if small.id != top.id:
        panel.add_head(SMALLEST, small)
    panel.add_ensemble()
    return Standings(all=panel.standings)


class _Panel:
    """The models of a comparison, from below."""

    def __init__(self, run: Run, store: Store) -> None:
        self._run, self._store = run, store
        self._index, self._ids = role_index(store, Role.REPORT), role_ids(store, Role.REPORT)
        self._own = encoder_logits(store, Role.REPORT)
        self.standings: list[Standing] = []

    def add_encoder(self) -> None:
        if self._own is None:
            return
        entry, baseline = self._store.manifest.encoder, self._store.manifest.baseline
        stage = "" if entry.fraction is None else f", fine-tuned for {entry.fraction:g} epochs"
        self._add(
            ENCODER,
            f"{entry.id}{stage}",
            self._own,
            parameters=self._store.encoder_parameters,
            select_score=None if baseline is None else baseline.select_score,
        )

    def add_head(self, role: str, record: TrialRecord) -> None:
        self._add(
            role,
            f"trial {record.id}: {describe(record.config)}",
            self._of_trial(self._run, record.id),
            parameters=record.parameters,
            select_score=record.score,
            interval=record.interval,
            trial=record.id,
        )

    def add_ensemble(self) -> None:
        chosen = self._run.ensemble()
        if chosen is None or chosen["method"] == Method.SINGLE:
            return
        members = chosen["members"]
        logits = combine(
            Method(chosen["method"]),
            [self._of_member(member) for member in members],
            self._store.task.kind,
            [member["weight"] for member in members],
        )
        names = ", ".join(member["name"] for member in members)
        self._add(ENSEMBLE, f"{chosen['method']} of {names}", logits, select_score=chosen["select_score"])

    def _add(
        self,
        role: str,
        name: str,
        logits: Logits,
        *,
        select_score: float | None,
        parameters: int | None = None,
        interval: tuple[float, float] | None = None,
        trial: str | None = None,
    ) -> None:
        evaluation = self._store.task.evaluate(self._index, logits)
        below, encoder = self._below(role), self._of(ENCODER)
        self.standings.append(
            Standing(
                role=role,
                name=name,
                logits=logits,
                evaluation=evaluation,
                interval=interval or evaluation.interval(),
                parameters=parameters,
                percent=percent_of(parameters, self._store.encoder_parameters),
                select_score=select_score,
                below=None if below is None else difference(evaluation, below.evaluation),
                delta=None if encoder is None else difference(evaluation, encoder.evaluation),
                trial=trial,
            )
        )

    def _below(self, role: str) -> Standing | None:
        """The ensemble stands on the best head, and so does the smallest."""
        if role in (SMALLEST, ENSEMBLE):
            return self._of(BEST)
        return self.standings[-1] if self.standings else None

    def _of(self, role: str) -> Standing | None:
        return next((standing for standing in self.standings if standing.role == role), None)

    def _of_member(self, member: Mapping[str, Any]) -> Logits:
        if member["trial"] is None:
            assert self._own is not None, "an ensemble's encoder has predictions"
            return self._own
        home = self._run if member["run"] == "." else Run.open(self._run.path / member["run"])
        return self._of_trial(home, member["trial"])

    def _of_trial(self, home: Run, trial: str) -> Logits:
        return read_predictions(home.trial_folder(trial) / "report.parquet", ids=self._ids).logits


def standings_text(standings: Standings, metric: str) -> str:
    """For a terminal: every rung with its interval, and the paired difference to the one below."""
    shown = [standing for standing in standings.all if standing.role != SMALLEST]
    width = max(len(standing.title) for standing in shown)
    lines = [f"{metric} on report rows, 95 % intervals; each beside the one below it"]
    lines += [_line(standing, shown, width) for standing in shown]
    if (top := standings.of(BEST)) is not None:
        lines.append(gain_sentence(standings, top))
    return "\n".join(lines)


def gain_sentence(standings: Standings, standing: Standing) -> str:
    """Whether a search was worth its while."""
    highest, gain = standings.highest, standings.gain(standing)
    if highest is None or gain is None:
        return "There is no ladder to compare with."
    if standing.trial is not None and standing.trial == highest.trial:
        return f"The {standing.role} is a rung of the ladder: no searched head did better on select."
    over = f"{gain.value:+.4f} [{gain.low:+.4f}, {gain.high:+.4f}] over the {highest.title}"
    if gain.word == "better":
        return f"The {standing.role} is a gain: {over}, the best of the ladder."
    return f"The {standing.role} is no gain: {over}, the best of the ladder."


def _line(standing: Standing, shown: Sequence[Standing], width: int) -> str:
    low, high = standing.interval
    text = f"  {standing.title:<{width}}  {standing.score:.4f} [{low:.4f}, {high:.4f}]"
    place = shown.index(standing)
    if standing.below is not None and place:
        gap = standing.below
        text += (
            f"  {gap.value:+.4f} [{gap.low:+.4f}, {gap.high:+.4f}] {gap.word} than {shown[place - 1].title}"
        )
    if standing.parameters is not None:
        text += f", {standing.parameters:,} parameters"
    return text
