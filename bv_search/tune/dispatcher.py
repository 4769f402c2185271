"""The dispatcher: takes in heads that wait, sends packs to the scan workers, writes down what comes back."""

from collections import deque
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from bv_search.command import Progress
from bv_search.run.trial import DONE, FAILED, STOPPED
from bv_search.scan.checks import Check
from bv_search.scan.ladder import LadderRung
from bv_search.scan.outcome import Diverged, Final, SegmentResult, Start
from bv_search.scan.trial import TrialConfig
from bv_search.tune.budget import Budget
from bv_search.tune.errand import LadderSolve, Scoring
from bv_search.tune.halving import Halving
from bv_search.tune.packing import SCORING, TRIAL, News, Order, Packer, Round, WaitingHead
from bv_search.tune.recorder import Recorder, share_out
from bv_search.tune.resume import Past
from bv_search.tune.workers import Call, LostCall, Workers


class Dispatcher:
    def __init__(
        self,
        *,
        workers: Workers,
        packer: Packer,
        halving: Halving,
        recorder: Recorder,
        progress: Progress,
        total: int,
        budget: Budget,
    ) -> None:
        self._workers = workers
        self._packer = packer
        self._rungs = halving.rungs
        self._halving = halving
        self._round = Round()
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
        self._solves: list[LadderSolve] = []  # that wait for an idle worker

    def recall(self, past: Past) -> None:
        """A trial of an earlier session: what its head was worth, where it stands, whether it is over."""
        if past.status != FAILED and not past.finished:
            self._configs[past.trial] = past.typed_config
            self._positions[past.trial] = past.position
            if past.has_learned:
                self._learned.add(past.trial)
            if past.status:
                self._halted[past.trial] = past.status
        for position, found in past.found:
            done = past.has_learned and position == past.position
            self._halving.hear(past.trial, past.typed_config, found, position=position, done=done)

    def complete(self, orders: Sequence[Order], found: Mapping[str, Check]) -> None:
        """A round of an earlier session, of which these were not in: they go as they would have gone then."""
        self._round = Round(orders, found)
        while self._workers.running or (self._round.has_orders and not self._budget.is_spent):
            if not self._budget.is_spent:
                self._send_orders()
            self.collect(wait=None)
        self._round.give_up()
        self._record_verdicts(self._judge())
        self._round = Round()  # nobody waits for news of it

    def park(self, trial: str, config: Mapping[str, Any]) -> None:
        if trial not in self._configs:
            own = {key: value for key, value in config.items() if key != TRIAL}
            self._configs[trial] = TrialConfig.from_json(own)
        self._wait(trial)

    def solve_ladder(self, rungs: Sequence[LadderRung]) -> None:
        """Have the rungs solved, beside whatever else comes first."""
        heads = tuple(Start(trial=rung.trial, config=rung.config) for rung in rungs)
        self._configs |= {head.trial: head.config for head in heads}
        self._solves.append(LadderSolve(heads=heads))
        self._send_solves()

    def fail(self, trial: str, reason: str) -> None:
        self._recorder.failed(trial, reason)
        self._has_failed(trial)

    def _has_failed(self, trial: str) -> None:
        self._failed.add(trial)
        self._budget.forget(trial)
        if trial in self._configs:
            self._budget.count(trial, self._configs[trial])

    def halt_all(self) -> None:
        """The time is up: heads that have learned something stay as they are, and are scored.

        One that has learned nothing yet is begun by a resumed session.
        """
        left = [trial for trial in sorted(self._positions) if trial not in self._halted]
        left = [trial for trial in left if self._positions[trial] and trial not in self._failed]
        statuses = {trial: DONE if self._is_done(trial) else STOPPED for trial in left}
        cut = {t for t, status in statuses.items() if status == STOPPED and self._budget.is_spent}
        self._record_verdicts(statuses, cut)

    def leave(self, trial: str) -> None:
        """Nothing more is learned in this session, by a head that may wait for its next segment."""
        self._packer.drop(trial)

    def dispatch(self, *, all_are_in: bool) -> None:
        """Begin a round, once no more heads can come, and none is on its way."""
        self._send_solves()
        if self._budget.is_spent:
            return
        if all_are_in and self._round.is_in and (orders := self._packer.next_round(self._workers.size)):
            self._recorder.began_round(orders)
            self._round = Round(orders)
        self._send_orders()

    def drain(self) -> None:
        """Wait for the segments under way: what they learned is not thrown away."""
        if self._budget.reason is not None:
            self._progress.say(f"the search ends: {self._budget.reason}; heads are scored as they are")
        while self._workers.running or self._solves:
            self._send_solves()
            self.collect(wait=None)
        if not self._round.is_in:
            self._round.give_up()
            self._record_verdicts(self._judge())

    def collect(self, *, wait: float | None = 0.0) -> dict[str, News]:
        """What became of heads, once all of a round are in.

        Waits so many seconds for a segment to end, or with None as long as it takes.
        """
        news: dict[str, News] = {}
        for end in self._workers.finished(wait=wait):
            if isinstance(end.call.about, LadderSolve):
                self._solved(end.call.about, end.result)
                continue
            if isinstance(end.result, LostCall):
                self._lost(end.call.about, end.result)
            else:
                self._came(end.result, end.seconds)
            if self._round.is_in:
                news |= self._news()
        self._recorder.mirror()
        self._show()
        return news

    def finish(self, pack: int) -> None:
        """Answers of every head whose training is over, in packs, on all workers."""
        left = self._unscored()
        packs = share_out(self._recorder, SCORING, left, pack=pack, workers=self._workers.size)
        waiting = deque(Scoring(heads=tuple(trials)) for trials in packs)
        while waiting or self._workers.running:
            self._progress.update(f"scored {len(left) - len(self._unscored())} of {len(left)} heads")
            self._workers.expect(len(waiting))
            while waiting and self._workers.idle:
                scoring = waiting.popleft()
                states = [self._recorder.state(trial, self._positions[trial]) for trial in scoring.trials]
                self._workers.submit(Call(method="final", arguments=(states,), about=scoring))
            for end in self._workers.finished(wait=None):
                waiting.extend(self._scored(end.call.about, end.result))

    def _unscored(self) -> list[str]:
        return [trial for trial in sorted(self._halted) if trial not in self._failed]

    def _scored(self, scoring: Scoring, result: list[Final | Diverged] | LostCall) -> Sequence[Scoring]:
        """What is to be scored again."""
        if not isinstance(result, LostCall):
            self._record_finals(result)
            return []
        again = scoring.after(result)
        if not again:
            self.fail(scoring.trials[0], result.reason)
        return again

    def _record_finals(self, finals: Sequence[Final | Diverged]) -> None:
        """Rungs of the ladder that were solved had no way to go, and are done."""
        self._recorder.finished(
            [(final, self._configs[final.trial], self._halted.get(final.trial, DONE)) for final in finals]
        )
        for final in finals:
            self._halted.pop(final.trial, None)
            if isinstance(final, Diverged):
                self._has_failed(final.trial)

    def _send_solves(self) -> None:
        self._workers.expect(len(self._solves))
        while self._solves and self._workers.idle:
            solve = self._solves.pop()
            self._workers.submit(Call(method="solve", arguments=(solve.heads,), about=solve))

    def _solved(self, solve: LadderSolve, result: list[Final | Diverged] | LostCall) -> None:
        if not isinstance(result, LostCall):
            self._record_finals(result)
            for final in result:
                if isinstance(final, Final):
                    self._budget.hear(final.trial, final.select.score)
            return
        again = solve.after(result)
        self._solves += again
        if not again:
            self.fail(solve.trials[0], result.reason)

    def _show(self) -> None:
        heads = sum(len(call.about.heads) for call in self._workers.running)
        best = "" if self._best is None else f", best select {self._best:.4f}"
        ended = len(self._halted) + len(self._failed)
        self._progress.update(
            f"{ended} of {self._total} trials trained, {len(self._failed)} failed; {heads} heads in a pass, "
            f"{len(self._packer)} waiting{best}"
        )

    def _wait(self, trial: str) -> None:
        position = self._positions.get(trial, 0)
        self._packer.park(WaitingHead(trial=trial, config=self._configs[trial], position=position))

    def _is_done(self, trial: str) -> bool:
        at_end = self._positions[trial] >= self._rungs.course(self._configs[trial]).end
        return at_end or trial in self._learned

    def _head(self, waiting: WaitingHead) -> bytes | Start:
        if waiting.position == 0:
            return Start(trial=waiting.trial, config=waiting.config)
        return self._recorder.state(waiting.trial, waiting.position)

    def _send_orders(self) -> None:
        self._workers.expect(self._round.waiting)
        while self._workers.idle and self._round.has_orders:
            order = self._round.next_order()
            heads = [self._head(waiting) for waiting in order.heads]
            arguments = heads, order.stop, order.score, self._budget.left
            self._workers.submit(Call(method="segment", arguments=arguments, about=order))

    def _came(self, outcomes: Sequence[SegmentResult], seconds: float) -> None:
        """What became of a pack, and, where it was the last of a round, of all its heads: on one line."""
        for outcome in outcomes:
            if outcome.failure is not None:
                self._round.failed(outcome.trial, outcome.failure)
                continue
            self._positions[outcome.trial] = outcome.position
            if outcome.has_learned:
                self._learned.add(outcome.trial)
            self._round.came(outcome.trial, outcome.found)
            if outcome.found is None:
                self._wait(outcome.trial)
        over = self._judge() if self._round.is_in else {}
        self._recorder.segment(outcomes, seconds, over)
        for outcome in outcomes:
            if outcome.failure is not None:
                self._has_failed(outcome.trial)
        self._are_over(over)

    def _judge(self) -> dict[str, str]:
        """Whose training is over, once all of a round have been heard: at its end, or stopped there."""
        found = {trial: self._round.found[trial] for trial in sorted(self._round.found)}
        for trial, check in found.items():
            self._best = check.score if self._best is None else max(check.score, self._best)
            self._budget.hear(trial, check.score)
            config, position, is_done = self._configs[trial], self._positions[trial], self._is_done(trial)
            self._halving.hear(trial, config, check, position=position, done=is_done)
        ends = {trial: self._end(trial) for trial in found}
        return {trial: end for trial, end in ends.items() if end is not None}

    def _end(self, trial: str) -> str | None:
        """How its training ended where it stands, if it did."""
        if self._is_done(trial):
            return DONE
        return None if self._halving.goes_on(trial, self._positions[trial]) else STOPPED

    def _record_verdicts(self, statuses: Mapping[str, str], cut: Collection[str] = ()) -> None:
        if statuses:
            self._recorder.halted(statuses, cut)
        self._are_over(statuses, cut)

    def _are_over(self, statuses: Mapping[str, str], cut: Collection[str] = ()) -> None:
        self._halted |= statuses
        for trial in statuses:
            if trial not in cut:
                self._budget.count(trial, self._configs[trial])

    def _news(self) -> dict[str, News]:
        """Of a round that has been judged; once."""
        news = {trial: News(score=None, goes_on=False) for trial in self._round.failures}
        for trial, found in self._round.found.items():
            news[trial] = News(score=found.score, goes_on=trial not in self._halted)
        self._round = Round()
        return news

    def _lost(self, order: Order, lost: LostCall) -> None:
        """Heads are as they were before the segment: try again, apart if it cannot be done together."""
        again = order.after(lost)
        if again:
            how = "repeated" if len(again) == 1 else "taken apart"
            self._progress.say(f"a segment of {len(order.heads)} heads is {how}: {lost.reason}")
            self._round.retry(*again)
            return
        (trial,) = order.trials
        self.fail(trial, lost.reason)
        self._round.failed(trial, lost.reason)
        if self._round.is_in:
            self._record_verdicts(self._judge())
