"""What a search leaves behind: every event in the journal, every head's state and results in files."""

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from functools import cached_property, partial
from math import ceil
from pathlib import Path
from typing import Any, TypeVar

from bv_search import files
from bv_search.files import Disk, together
from bv_search.heads.config import RAW, HeadConfig
from bv_search.run.finals import SELECT, TRAIN, failure, report_json, write_final, write_finished
from bv_search.run.folder import ENSEMBLE, LEADERBOARD, STATES, STUDY, TRIALS, Run, check_file
from bv_search.run.journal import Event
from bv_search.run.mlflow import MlflowMirror
from bv_search.run.trial import BAGGED, DONE, FAILED, SINGLE, encore_name
from bv_search.scan.outcome import Diverged, Final, FinalistResult, Finished, SegmentResult
from bv_search.scan.trial import TrialConfig
from bv_search.store.store import Store
from bv_search.tune.packing import Order
from bv_search.tune.resume import ROUND, Past

MIRROR_SECONDS = 5.0
MIRRORING_SECONDS = 10.0  # in all, of some hundred trials
LONGEST_SECONDS = 300.0  # between tries, while MLflow cannot be reached
WRITERS = 8  # of files, beside each other

T = TypeVar("T")
R = TypeVar("R")


class Recorder:
    """Files first, then the journal: what the journal names is there."""

    def __init__(self, run: Run, store: Store, mirror: MlflowMirror) -> None:
        self._run = run
        self._store = store
        self._mirror = mirror
        self._threads = ThreadPoolExecutor(WRITERS, thread_name_prefix="record")
        self._suggested: list[Event] = []  # that stand on no line yet
        self._digests: dict[str, str] = {}  # of the states that heads are in
        self._positions: dict[str, int] = {}  # of these
        self._mirrored = 0.0
        self._mirroring = 0.0  # seconds
        self._pause = MIRROR_SECONDS

    def sweep(self, past: Sequence[Past]) -> None:
        """Away with what an earlier session left behind when it was broken off, which no line names."""
        kept = [each for each in past if each.position and not each.finished]
        named = {self._run.state_path(each.trial, each.position) for each in kept}
        self._positions = {each.trial: each.position for each in kept}
        self._digests = {each.trial: each.state for each in kept if each.state is not None}
        states = (self._run.path / STATES).glob("*.safetensors")
        for path in [*states, *self._parts()]:
            if path not in named and path.is_file():
                path.unlink(missing_ok=True)

    def _parts(self) -> Iterator[Path]:
        """Of what a search writes: a report may write now, and a killed export is another matter."""
        place = self._run.path
        for name in (STUDY, LEADERBOARD, ENSEMBLE):
            yield from files.parts_of(place / name)
        for folder in (STATES, TRIALS):
            yield from (place / folder).rglob(files.PARTS)

    def suggested(self, trial: str, config: Mapping[str, Any], rung: str | None = None) -> None:
        """By the searcher, or as a rung of the ladder. It stands on the line of what comes of it first:
        where that is not written, it is suggested again."""
        more = {} if rung is None else {"rung": rung}
        self._suggested.append(
            {"event": "suggest", "trial": trial, "config": dict(config), **more, "at": round(time.time(), 3)}
        )

    def _append(self, *events: Event) -> None:
        self._run.journal.append(*self._suggested, *events)
        self._suggested.clear()

    def began_round(self, orders: Sequence[Order]) -> None:
        """Who goes together, before they go: where this is broken off, they go so once more."""
        said = [{"trials": o.trials, "stop": o.stop, "score": sorted(o.score)} for o in orders]
        self._append({"event": ROUND, "orders": said})

    def segment(self, outcomes: Sequence[SegmentResult], seconds: float, over: Mapping[str, str]) -> None:
        """A pack's states on the disk, then the line that makes them count, then the old states gone.

        With it, of all of its round whose training is over, how it ended.
        """
        trained = [outcome for outcome in outcomes if outcome.state is not None]
        with together() as disk:
            written = self._side_by_side(partial(self._write_state, disk=disk), trained)
        digests = dict(zip((o.trial for o in trained), written, strict=True))
        ends = [failure(o.trial, o.failure) for o in outcomes if o.failure is not None]
        share = seconds / len(outcomes)
        segments = [_segment(outcome, share, digests[outcome.trial]) for outcome in trained]
        self._append(*segments, *ends, *_halts(over))
        for outcome in outcomes:
            self._forget_state(outcome.trial, keep=None if outcome.state is None else outcome.position)
        self._positions |= {outcome.trial: outcome.position for outcome in trained}
        self._digests |= digests

    def _write_state(self, outcome: SegmentResult, disk: Disk) -> str:
        """Its digest."""
        assert outcome.state is not None, "a head that failed has none"
        files.write_bytes(self._run.state_path(outcome.trial, outcome.position), outcome.state, disk)
        return files.digest_bytes(outcome.state)

    def state(self, trial: str, position: int) -> bytes:
        """As it was written."""
        path = self._run.state_path(trial, position)
        check_file(path, self._digests.get(trial))
        return path.read_bytes()

    def halted(self, statuses: Mapping[str, str], cut: Collection[str]) -> None:
        """Their training is over, or cut short by the end of the search; only answers are to be made."""
        self._append(*_halts(statuses, cut))

    def failed(self, trial: str, reason: str) -> None:
        self._append(failure(trial, reason))
        self._forget_state(trial)

    def finished(self, pack: Sequence[tuple[Final | Diverged, TrialConfig, str]]) -> None:
        """What they leave on the disk, then the line that makes all of it count."""
        with together() as disk:
            ends = self._side_by_side(partial(self._end, disk=disk), pack)
        self._append(*ends)
        for final, _, _ in pack:
            self._forget_state(final.trial)

    def _end(self, ended: tuple[Final | Diverged, TrialConfig, str], disk: Disk) -> Event:
        final, config, status = ended
        if isinstance(final, Diverged):
            return failure(final.trial, str(final))
        return write_final(self._run, final, self._head_json(final, config), status, disk)

    def noted(self, work: str, packs: Sequence[Sequence[str]]) -> None:
        """Who goes together, before they go."""
        self._append({"event": work, "packs": [list(pack) for pack in packs]})

    def packs_left(self, work: str, trials: Collection[str]) -> list[list[str]]:
        """Of those that were noted last, what is still among these trials."""
        noted = [event["packs"] for event in self._run.journal.stream() if event["event"] == work]
        packs = [[trial for trial in pack if trial in trials] for pack in (noted[-1] if noted else [])]
        return [pack for pack in packs if pack]

    def encores(self, pack: Sequence[tuple[FinalistResult | Diverged, TrialConfig]], seconds: float) -> None:
        """Two heads of each, and one line for all of the pack."""
        each = seconds / len(pack)
        self._append(
            *[
                _lost_encore(encore.trial, str(encore))
                if isinstance(encore, Diverged)
                else self._encore(encore, config, each)
                for encore, config in pack
            ]
        )

    def _encore(self, encore: FinalistResult, config: TrialConfig, seconds: float) -> Event:
        """On rows that choose they answer as their trial does: these they know."""
        made = {BAGGED: encore.bagged, SINGLE: encore.single}
        place = self._run.answers_folder(encore.trial)
        answers = {name: (place / name).read_bytes() for name in (SELECT, TRAIN) if (place / name).exists()}
        for name, final in made.items():
            trial = encore_name(encore.trial, name)
            about = {**self._head_json(final, config), "trial": trial, "of": encore.trial}
            folder = write_finished(self._run, trial, about, final)
            for file, data in answers.items():
                files.write_bytes(folder / file, data)
        finals = {
            name: {
                "status": DONE,
                "parameters": final.parameters,
                "report": report_json(final.report),
                "files": self._run.trial_digests(encore_name(encore.trial, name)),
            }
            for name, final in made.items()
        }
        return {"event": "encore", "of": encore.trial, "rows": encore.rows, "seconds": seconds, **finals}

    def encore_failed(self, trial: str, reason: str) -> None:
        """Its trial stays what it was."""
        self._append(_lost_encore(trial, reason))

    def ended(self, seconds: Mapping[str, float], memory: Mapping[str, int], why: str | None) -> None:
        """The last line: a session that lacks it is not over, and what is made here is made again."""
        self._run.write_leaderboard()
        self._append({"event": "end", "seconds": dict(seconds), "memory": dict(memory), "why": why})
        self._mirror.close("FINISHED")

    def mirror(self) -> None:
        """Bring MLflow up to date, now and then: it is a copy, and the search need not wait for it.

        Where that has taken long, a process of its own goes on.
        """
        begun = time.monotonic()
        if begun - self._mirrored > self._pause:
            reached = self._mirror.sync()
            self._pause = MIRROR_SECONDS if reached else min(2 * self._pause, LONGEST_SECONDS)
            self._mirrored = time.monotonic()
            self._mirroring += self._mirrored - begun
            if reached and self._mirroring > MIRRORING_SECONDS:
                self._mirror.hand_over()

    def _forget_state(self, trial: str, keep: int | None = None) -> None:
        """The one that the journal named before: there is no other."""
        position = self._positions.get(trial)
        if position is not None and position != keep:
            self._run.state_path(trial, position).unlink(missing_ok=True)
            del self._positions[trial], self._digests[trial]

    def _side_by_side(self, write: Callable[[T], R], items: Sequence[T]) -> list[R]:
        """Files of a pack wait for the disk together: alone each takes three times as long."""
        return list(self._threads.map(write, items))

    def _head_json(self, final: Finished, config: TrialConfig) -> dict[str, Any]:
        head: HeadConfig = config.head
        return {
            "head": head.to_json(),
            "inputs": config.inputs,
            "values": config.inputs if final.shape.is_value else RAW,
            "shape": asdict(final.shape),
            "copies": final.copies,
            "trial": final.trial,
            "training": config.training.to_json(),
            **self._about_store,
        }

    @cached_property
    def _about_store(self) -> dict[str, Any]:
        manifest = self._store.manifest
        return {
            "task": dict(manifest.task),
            "encoder": asdict(manifest.encoder),
            "precision": manifest.precision,
            "tokens": manifest.tokens,
            "dtype": manifest.dtype,
            "layers": list(manifest.layers),
            "store": {"path": str(self._store.path), "digest": self._store.digest},
        }


def share_out(
    recorder: Recorder, event: str, trials: Sequence[str], *, pack: int, workers: int
) -> list[list[str]]:
    """Packs that an earlier session noted and did not live to end; then all others, noted before they go."""
    noted = recorder.packs_left(event, trials)
    others = [trial for trial in trials if not any(trial in each for each in noted)]
    share = min(pack, ceil(len(others) / workers) or 1)
    new = [others[n : n + share] for n in range(0, len(others), share)]
    if new:
        recorder.noted(event, noted + new)
    return noted + new


def _segment(outcome: SegmentResult, seconds: float, digest: str) -> Event:
    return {
        "event": "segment",
        "trial": outcome.trial,
        "position": outcome.position,
        "rows": outcome.rows,
        "found": None if outcome.found is None else asdict(outcome.found),
        "checks": [asdict(check) for check in outcome.checks],
        "has_learned": outcome.has_learned,
        "seconds": seconds,
        "state": digest,
    }


def _halts(statuses: Mapping[str, str], cut: Collection[str] = ()) -> list[Event]:
    return [
        {"event": "halt", "trial": trial, "status": status, "cut": trial in cut}
        for trial, status in statuses.items()
    ]


def _lost_encore(trial: str, reason: str) -> Event:
    return {
        "event": "encore",
        "of": trial,
        "rows": 0,
        "seconds": 0.0,
        BAGGED: {"status": FAILED, "reason": reason},
    }
