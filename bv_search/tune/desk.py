"""The desk: takes parked heads in, sends packs out to the scan workers, writes down what comes back."""

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

from bv_search.command import Progress
from bv_search.run.trial import DONE, STOPPED
from bv_search.scan.checks import Check
from bv_search.scan.ladder import LadderRung
from bv_search.scan.outcome import Diverged, Final, Outcome, Start
from bv_search.scan.trial import TrialConfig
from bv_search.tune.budget import Budget
from bv_search.tune.crew import Crew, Job, Lost
from bv_search.tune.pool import Order, Pool, Waiting
from bv_search.tune.recorder import Recorder
from bv_search.tune.resume import Past
from bv_search.tune.rungs import Rungs
from bv_search.tune.thin_trial import FAILURE, TRIAL, News

ATTEMPTS = 2  # a single head that takes so many processes down with it is to blame


@dataclass(frozen=True, kw_only=True)
class Scoring:
    """Heads at the end of their way that are scored together."""

    trials: list[str]
    losses: int = 0  # of workers that were at it


@dataclass(frozen=True, kw_only=True)
class Climb:
    """Rungs of the ladder that are solved together."""

    heads: tuple[Start, ...]
    losses: int = 0  # of workers that were at it


class Desk:
    def __init__(
        self,
        *,
        crew: Crew,
        pool: Pool,
        rungs: Rungs,
        recorder: Recorder,
        progress: Progress,
        total: int,
        budget: Budget,
    ) -> None:
        self._crew = crew
        self._pool = pool
        self._rungs = rungs
        self._recorder = recorder
        self._progress = progress
        self._total = total
        self._budget = budget
        self._best: float | None = None
        self._configs: dict[str, TrialConfig] = {}
        self._positions: dict[str, int] = {}
        self._learned: set[str] = set()
        self._halted: dict[str, str] = {}
        self._failed: set[str] = set()
        self._orphaned: Counter[str] = Counter()
        self._climbs: list[Climb] = []  # that wait for an idle worker
        self.scan_seconds = 0.0

    def known(self, past: Past) -> None:
        """A trial of an earlier session: where its head stands, and whether its training is over."""
        self._configs[past.trial] = past.typed_config
        self._positions[past.trial] = past.position
        if past.has_learned:
            self._learned.add(past.trial)
        if past.status:
            self._halted[past.trial] = past.status

    def config(self, trial: str) -> TrialConfig:
        return self._configs[trial]

    def park(self, trial: str, config: Mapping[str, Any]) -> None:
        if trial not in self._configs:
            own = {key: value for key, value in config.items() if key != TRIAL}
            self._configs[trial] = TrialConfig.from_json(own)
        del self._orphaned[trial]
        self._wait(trial)

    def news(self, trial: str, found: Check) -> News:
        """What its trial is to report: what its head is worth where it stands."""
        where = {"position": self._positions[trial], "done": self._is_done(trial)}
        return {"score": found.score, "loss": found.loss, "rows": found.rows, **where}

    def climb(self, rungs: Sequence[LadderRung]) -> None:
        """Have the rungs solved, beside whatever else comes first."""
        heads = tuple(Start(trial=rung.trial, config=rung.config) for rung in rungs)
        self._configs |= {head.trial: head.config for head in heads}
        self._climbs.append(Climb(heads=heads))
        self._send_climbs()

    def halt(self, trial: str) -> None:
        """Its training is over: it came to its end, or was stopped with what it has learned.

        One that has learned nothing yet is begun by a resumed session.
        """
        if self._positions.get(trial) and trial not in self._failed:
            status = DONE if self._is_done(trial) else STOPPED
            is_cut = status == STOPPED and self._budget.is_spent
            self._recorder.halted(trial, status, is_cut=is_cut)
            self._halted[trial] = status
            if not is_cut:
                self._budget.count(trial, self._configs[trial])

    def fail(self, trial: str, reason: str) -> None:
        if trial not in self._failed:
            self._failed.add(trial)
            self._recorder.failed(trial, reason)
            if trial in self._configs:
                self._budget.count(trial, self._configs[trial])

    def loses_process(self, trial: str) -> bool:
        """Whether its head goes on in another one: it has not failed, and the last one got somewhere."""
        self._orphaned[trial] += 1
        if self._orphaned[trial] >= ATTEMPTS:
            self.fail(trial, "its trial processes died")
        return trial not in self._failed

    def halt_all(self) -> None:
        """The time is up: heads that have learned something stay as they are, and are scored."""
        for trial in self._positions:
            if trial not in self._halted:
                self.halt(trial)

    def leave(self, trial: str) -> None:
        """Nothing more is learned in this session, by a head that may wait for its next segment."""
        self._pool.drop(trial)

    def dispatch(self, *, all_are_in: bool) -> None:
        """Give idle workers full packs, or shares of whatever waits once no more can come."""
        self._send_climbs()
        while self._crew.idle and not self._budget.is_spent:
            order = self._pool.next_share(self._crew.idle) if all_are_in else self._pool.next_full()
            if order is None:
                return
            heads = [self._head(waiting) for waiting in order.heads]
            arguments = heads, order.stop, order.score, self._budget.left
            self._crew.submit(Job(method="segment", arguments=arguments, about=order))

    def drain(self) -> None:
        """Wait for the segments under way: what they learned is not thrown away."""
        if self._budget.reason is not None:
            self._progress.say(f"the search ends: {self._budget.reason}; heads are scored as they are")
        while self._crew.running or self._climbs:
            self._send_climbs()
            self.collect(wait=None)

    def collect(self, *, wait: float | None = 0.0) -> dict[str, News]:
        """What trials have to hear: scores of heads that came to a stop of theirs, and failures.

        Waits so many seconds for a segment to end, or with None as long as it takes.
        """
        news: dict[str, News] = {}
        for end in self._crew.finished(wait=wait):
            if isinstance(end.job.about, Climb):
                self._climbed(end.job.about, end.result)
                continue
            order: Order = end.job.about
            self.scan_seconds += end.seconds
            if isinstance(end.result, Lost):
                news |= self._lost(order, end.result)
            else:
                for outcome in end.result:
                    news |= self._ended(outcome, order, end.seconds / len(order.heads))
        self._recorder.mirror()
        self._show()
        return news

    def finish(self, pack: int) -> None:
        """Answers of every head whose training is over, in packs, on all workers."""
        left = self._unscored()
        share = min(pack, ceil(len(left) / self._crew.size) or 1)
        waiting = deque(Scoring(trials=left[n : n + share]) for n in range(0, len(left), share))
        while waiting or self._crew.running:
            self._progress.update(f"scored {len(left) - len(self._unscored())} of {len(left)} heads")
            while waiting and self._crew.idle:
                scoring = waiting.popleft()
                states = [self._recorder.state(trial, self._positions[trial]) for trial in scoring.trials]
                self._crew.submit(Job(method="final", arguments=(states,), about=scoring))
            for end in self._crew.finished(wait=None):
                waiting.extend(self._scored(end.job.about, end.result))

    def _unscored(self) -> list[str]:
        return [trial for trial in self._halted if trial not in self._failed]

    def _scored(self, scoring: Scoring, result: list[Final | Diverged] | Lost) -> list[Scoring]:
        """What is to be scored again: together once more, if a worker died, or else apart."""
        if not isinstance(result, Lost):
            for final in result:
                if isinstance(final, Diverged):
                    self.fail(final.trial, str(final))
                else:
                    self._record_final(final)
            return []
        if result.worker_died and scoring.losses + 1 < ATTEMPTS:
            return [replace(scoring, losses=scoring.losses + 1)]
        if len(scoring.trials) > 1:
            return [Scoring(trials=[trial]) for trial in scoring.trials]
        self.fail(scoring.trials[0], result.reason)
        return []

    def _record_final(self, final: Final) -> None:
        self._recorder.finished(final, self._configs[final.trial], self._halted.pop(final.trial))

    def _send_climbs(self) -> None:
        while self._climbs and self._crew.idle:
            climb = self._climbs.pop()
            self._crew.submit(Job(method="solve", arguments=(climb.heads,), about=climb))

    def _climbed(self, climb: Climb, result: list[Final | Diverged] | Lost) -> None:
        """A worker that died was not to blame the first time."""
        if not isinstance(result, Lost):
            for final in result:
                if isinstance(final, Diverged):
                    self.fail(final.trial, str(final))
                else:
                    self._recorder.finished(final, self._configs[final.trial], DONE)
                    self._budget.hear(final.trial, final.select.score)
        elif result.worker_died and climb.losses + 1 < ATTEMPTS:
            self._climbs.append(replace(climb, losses=climb.losses + 1))
        else:
            for head in climb.heads:
                self.fail(head.trial, result.reason)

    def _show(self) -> None:
        heads = sum(len(job.about.heads) for job in self._crew.running)
        best = "" if self._best is None else f", best select {self._best:.4f}"
        ended = len(self._halted) + len(self._failed)
        self._progress.update(
            f"{ended} of {self._total} trials trained, {len(self._failed)} failed; {heads} heads in a pass, "
            f"{len(self._pool)} waiting{best}"
        )

    def _wait(self, trial: str) -> None:
        position = self._positions.get(trial, 0)
        self._pool.park(Waiting(trial=trial, config=self._configs[trial], position=position))

    def _is_done(self, trial: str) -> bool:
        at_end = self._positions[trial] >= self._rungs.course(self._configs[trial]).end
        return at_end or trial in self._learned

    def _head(self, waiting: Waiting) -> bytes | Start:
        if waiting.position == 0:
            return Start(trial=waiting.trial, config=waiting.config)
        return self._recorder.state(waiting.trial, waiting.position)

    def _ended(self, outcome: Outcome, order: Order, seconds: float) -> dict[str, News]:
        trial = outcome.trial
        if outcome.failure is not None:
            return {trial: self._failure(trial, outcome.failure)}
        self._positions[trial] = outcome.position
        self._recorder.segment(outcome, seconds)
        if outcome.has_learned:
            self._learned.add(trial)
        if outcome.found is None:
            self._wait(trial)
            return {}
        score = outcome.found.score
        self._best = score if self._best is None else max(score, self._best)
        self._budget.hear(trial, score)
        return {trial: self.news(trial, outcome.found)}

    def _lost(self, order: Order, lost: Lost) -> dict[str, News]:
        """Heads are as they were before the segment: try again, apart if it cannot be done together."""
        again = Order(heads=order.heads, stop=order.stop, score=order.score, losses=order.losses + 1)
        if lost.worker_died and again.losses < ATTEMPTS:
            self._progress.say(f"a segment of {len(order.heads)} heads is repeated: {lost.reason}")
            self._pool.retry(again)
            return {}
        if len(order.heads) > 1:
            self._progress.say(f"a segment of {len(order.heads)} heads is taken apart: {lost.reason}")
            for half in order.halves():
                self._pool.retry(half)
            return {}
        trial = order.heads[0].trial
        return {trial: self._failure(trial, lost.reason)}

    def _failure(self, trial: str, reason: str) -> News:
        self.fail(trial, reason)
        return {FAILURE: reason, "done": True}
