"""A rerun: one trial of a run is trained again, and compared with what the run kept of it.

It goes the way that the journal notes, from segment to segment, alone; nothing is written. Heads of a pack
round otherwise than a head alone, by a few last bits of a weight.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bv_search.command import AUTO, Progress
from bv_search.errors import RunError, UnknownName
from bv_search.precision import FLOAT32
from bv_search.run.folder import Run
from bv_search.run.roles import open_store
from bv_search.run.trial import BAGGED, TrialRecord
from bv_search.scan.ladder import rungs_of
from bv_search.scan.outcome import Diverged, Final, Finished, Start
from bv_search.scan.scanner import Scanner
from bv_search.scan.store_view import head_shape
from bv_search.scan.trial import TrialConfig
from bv_search.tasks.row import Role
from bv_search.tune.finale import as_finalist
from bv_search.tune.resume import read_past

TOLERANCE = 0.01  # of the score on select: a few rows of several hundred may fall to the other side


@dataclass(frozen=True, kw_only=True)
class Rerun:
    run: Path
    record: TrialRecord
    final: Finished | Diverged
    difference: float | None  # the largest between two weights; 0 is identical to the bit

    @property
    def agrees(self) -> bool:
        return self.score is not None and abs(self.score - self.before) <= TOLERANCE

    @property
    def role(self) -> Role:
        """Whose rows say so: what is made of a finalist has learned from those of select."""
        return Role.REPORT if self.record.made else Role.SELECT

    @property
    def before(self) -> float:
        score = self.record.report_score if self.role is Role.REPORT else self.record.score
        assert score is not None, "a head that answers has scores"
        return score

    @property
    def score(self) -> float | None:
        if isinstance(self.final, Final):
            return self.final.select.score
        return self.final.report.score if isinstance(self.final, Finished) else None

    def __str__(self) -> str:
        if isinstance(self.final, Diverged):
            return f"trial {self.record.id}: {self.final}; the run has {self.before:.4f} on {self.role}"
        difference = f"weights differ by at most {self.difference:.2g}"
        same = difference if self.difference else "identical to the bit"
        verdict = "agree" if self.agrees else "do not agree"
        return (
            f"trial {self.record.id}: {same}; {self.before:.4f} on {self.role} then, {self.score:.4f} now, "
            f"which {verdict} within {TOLERANCE:g}"
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "run": str(self.run),
            "trial": self.record.id,
            "identical": self.difference == 0.0,
            "largest_difference": self.difference,
            "rows": str(self.role),
            "score_then": self.before,
            "score_now": self.score,
            "tolerance": TOLERANCE,
            "agrees": self.agrees,
        }


def rerun(place: Path, trial: str, progress: Progress, *, memory: int | None = None) -> Rerun:
    run = Run.open(place)
    records = {record.id: record for record in run.trials()}
    if trial not in records:
        raise UnknownName("trial", trial, records, do=f"in {place}")
    record = records[trial]
    if not record.answers:
        found = record.reason or record.status
        raise RunError(f"trial {trial} has no head to compare with", where=place, found=found)
    scanner = Scanner(
        str(open_store(run).path),
        source=run.study.source,
        memory=memory,
        folds=run.study.folds,
        precision=FLOAT32 if run.study.precision == AUTO else run.study.precision,
        threads=len(os.sched_getaffinity(0)),
    )
    final = _repeat(run, scanner, record, progress)
    saved = run.head_folder(trial) / "model.safetensors"
    difference = _largest_difference(saved, final.weights) if isinstance(final, Finished) else None
    return Rerun(run=place, record=record, final=final, difference=difference)


def _repeat(run: Run, scanner: Scanner, record: TrialRecord, progress: Progress) -> Finished | Diverged:
    if record.made is not None:
        return _play(run, scanner, record)
    segments = [e for e in run.events() if e["event"] == "segment" and e["trial"] == record.id]
    return _train(scanner, record, segments, progress) if segments else _solve(run, scanner, record)


def _play(run: Run, scanner: Scanner, record: TrialRecord) -> Finished | Diverged:
    """A finalist, which learned from all rows."""
    (past,) = (past for past in read_past(run.events()) if past.trial == record.of)
    (encore,) = scanner.finale([as_finalist(run, past)])
    if isinstance(encore, Diverged):
        return encore
    return encore.bagged if record.made == BAGGED else encore.single


def _train(
    scanner: Scanner, record: TrialRecord, segments: Sequence[Mapping[str, Any]], progress: Progress
) -> Final | Diverged:
    head: bytes | Start = Start(trial=record.id, config=TrialConfig.from_json(record.config))
    for number, segment in enumerate(segments):
        progress.update(f"trial {record.id}: {number} of {len(segments)} segments")
        asked = [] if segment["found"] is None else [record.id]
        (outcome,) = scanner.segment([head], segment["position"], score=asked)
        if outcome.state is None:
            return Diverged(trial=record.id, position=outcome.position)
        head = outcome.state
        if outcome.has_learned:
            break
    assert isinstance(head, bytes), "a trained head went through a segment"
    return scanner.final([head])[0]


def _solve(run: Run, scanner: Scanner, record: TrialRecord) -> Final | Diverged:
    """A rung of the ladder that needs no training."""
    rung = next(rung for rung in rungs_of(head_shape(open_store(run))) if rung.trial == record.id)
    return scanner.solve([Start(trial=rung.trial, config=rung.config)])[0]


def _largest_difference(saved: Path, weights: bytes) -> float:
    from safetensors.torch import load

    before = saved.read_bytes()
    if before == weights:
        return 0.0
    ours, theirs = load(weights), load(before)
    assert ours.keys() == theirs.keys(), "heads of one configuration have the same tensors"
    return max(float((ours[name] - theirs[name]).abs().max()) for name in ours)
