"""The finale of a search: its best heads learn once more, from all rows and several times, in a last pack.

Nothing is chosen any more, so no row is held back: copies have no folds, and go for as many passes as the
search found best. Which of the finalists is the winner, their scores in the search say, out of fold.
"""

from collections import deque
from collections.abc import Sequence

from bv_search.command import Progress
from bv_search.run.folder import Run
from bv_search.run.leaderboard import best
from bv_search.scan.outcome import Finalist
from bv_search.tune.budget import Budget
from bv_search.tune.errand import FinalPack
from bv_search.tune.recorder import Recorder, share_out
from bv_search.tune.resume import Past, read_past
from bv_search.tune.workers import Call, EndedCall, LostCall, Workers

FINALE = "finale"  # the event that notes which heads learn together


def find_finalists(run: Run) -> list[Finalist]:
    """Those that are still to learn. A rung of the ladder among the best stands as it is."""
    if not run.study.finalists:
        return []
    records, past = run.trials(), {each.trial: each for each in read_past(run.events())}
    done = {record.of for record in records}
    ranked = [record for record in best(records) if record.of is None][: run.study.finalists]
    return [
        as_finalist(run, past[record.id])
        for record in ranked
        if record.rung is None and record.id not in done
    ]


def is_over(run: Run) -> bool:
    """Whether the last session came to its end, and left nothing to a finale."""
    return run.has_ended and not find_finalists(run)


def as_finalist(run: Run, past: Past) -> Finalist:
    return Finalist(
        trial=past.trial, config=past.typed_config, position=past.best_position, copies=run.study.seeds
    )


class Finale:
    def __init__(self, *, workers: Workers, recorder: Recorder, budget: Budget, progress: Progress) -> None:
        self._workers = workers
        self._recorder = recorder
        self._budget = budget
        self._progress = progress

    def play(self, finalists: list[Finalist], room: int) -> None:
        """In packs on all workers, each of which has room for so many copies.

        Interrupted, it ends with the packs under way: a resumed session plays the rest.
        """
        if not finalists:
            return
        copies = finalists[0].copies
        self._progress.say(f"finale: {len(finalists)} heads learn from all rows, {copies} copies of each")
        waiting = deque(self._packs({each.trial: each for each in finalists}, room // copies))
        while self._workers.running or (waiting and not self._budget.is_interrupted):
            self._workers.expect(len(waiting))
            while waiting and self._workers.idle and not self._budget.is_interrupted:
                pack = waiting.popleft()
                self._workers.submit(Call(method="finale", arguments=(pack.heads,), about=pack))
            for end in self._workers.finished(wait=None):
                waiting.extend(self._ended(end))
            self._recorder.mirror()

    def _packs(self, finalists: dict[str, Finalist], room: int) -> list[FinalPack]:
        size = self._workers.size
        packs = share_out(self._recorder, FINALE, list(finalists), pack=max(1, room), workers=size)
        return [FinalPack(heads=tuple(finalists[trial] for trial in pack)) for pack in packs]

    def _ended(self, end: EndedCall) -> Sequence[FinalPack]:
        """What is to be tried again."""
        pack: FinalPack = end.call.about
        if isinstance(end.result, LostCall):
            again = pack.after(end.result)
            if not again:
                self._recorder.encore_failed(pack.trials[0], end.result.reason)
            return again
        configs = [finalist.config for finalist in pack.heads]
        self._recorder.encores(list(zip(end.result, configs, strict=True)), end.seconds)
        return []
