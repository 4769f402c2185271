"""What a search leaves behind: every event in the journal, every head's state and results in files."""

import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bv_search import files
from bv_search.heads.config import HeadConfig
from bv_search.run.folder import Run
from bv_search.run.mlflow import MlflowMirror
from bv_search.run.predictions import write_predictions
from bv_search.run.trial import BAGGED, DONE, FAILED, SINGLE, encore_name
from bv_search.scan.outcome import Answers, Encore, Final, Finished, Outcome
from bv_search.scan.trial import TrialConfig
from bv_search.store.store import Store

STATES = "states"
SELECT = "select.parquet"
DIGITS = 6  # of a score that is drawn
MIRROR_SECONDS = 5.0
LONGEST_SECONDS = 300.0  # between tries, while MLflow cannot be reached: each try holds the search up


class Recorder:
    """Files first, then the journal: what the journal names is there."""

    def __init__(self, run: Run, store: Store, mirror: MlflowMirror) -> None:
        self._run = run
        self._store = store
        self._mirror = mirror
        self._states = run.path / STATES
        self._mirrored = 0.0
        self._pause = MIRROR_SECONDS

    def suggested(self, trial: str, config: Mapping[str, Any], rung: str | None = None) -> None:
        """By the searcher, or as a rung of the ladder."""
        more = {} if rung is None else {"rung": rung}
        self._append("suggest", trial, config=dict(config), **more)

    def segment(self, outcome: Outcome, seconds: float) -> None:
        """A head's state on the disk, then the event that makes it count, then the old state gone."""
        assert outcome.state is not None
        files.write_bytes(self._state_path(outcome.trial, outcome.position), outcome.state)
        self._append(
            "segment",
            outcome.trial,
            position=outcome.position,
            rows=outcome.rows,
            found=None if outcome.found is None else asdict(outcome.found),
            checks=[asdict(check) for check in outcome.checks],
            has_learned=outcome.has_learned,
            seconds=seconds,
        )
        self._forget_states(outcome.trial, keep=outcome.position)

    def state(self, trial: str, position: int) -> bytes:
        return self._state_path(trial, position).read_bytes()

    def halted(self, trial: str, status: str, *, is_cut: bool) -> None:
        """Its training is over, or cut short by the end of the search; only its answers are to be made."""
        self._append("halt", trial, status=status, cut=is_cut)

    def failed(self, trial: str, reason: str) -> None:
        self._append("finish", trial, status=FAILED, reason=reason)
        self._forget_states(trial)

    def finished(self, final: Final, config: TrialConfig, status: str) -> None:
        folder = self._write_head(final.trial, self._head_json(final, config), final)
        write_predictions(folder / SELECT, final.select.ids, final.select.logits)
        self._append(
            "finish",
            final.trial,
            status=status,
            score=final.select.score,
            loss=final.select.loss,
            draws=[round(score, DIGITS) for score in final.select.draws],
            parameters=final.parameters,
            report=_report_json(final.report),
        )
        self._forget_states(final.trial)

    def encore(self, encore: Encore, config: TrialConfig, seconds: float) -> None:
        """Two heads by one event. On select they answer as their trial does: these rows they know."""
        made = {BAGGED: encore.bagged, SINGLE: encore.single}
        answers = (self._run.trial_folder(encore.trial) / SELECT).read_bytes()
        for name, final in made.items():
            trial = encore_name(encore.trial, name)
            about = {**self._head_json(final, config), "trial": trial, "of": encore.trial}
            files.write_bytes(self._write_head(trial, about, final) / SELECT, answers)
        finals = {
            name: {"status": DONE, "parameters": final.parameters, "report": _report_json(final.report)}
            for name, final in made.items()
        }
        self._run.journal.append(
            {"event": "encore", "of": encore.trial, "rows": encore.rows, "seconds": seconds, **finals}
        )

    def encore_failed(self, trial: str, reason: str) -> None:
        """Its trial stays what it was."""
        failed = {"status": FAILED, "reason": reason}
        self._run.journal.append({"event": "encore", "of": trial, "rows": 0, "seconds": 0.0, BAGGED: failed})

    def ended(self, seconds: Mapping[str, float], memory: Mapping[str, int], why: str | None) -> None:
        self._run.journal.append(
            {"event": "end", "seconds": dict(seconds), "memory": dict(memory), "why": why}
        )
        self._run.write_leaderboard()
        self._mirror.close("FINISHED")

    def mirror(self) -> None:
        """Bring MLflow up to date, now and then: it is a copy, and the search need not wait for it."""
        if time.monotonic() - self._mirrored > self._pause:
            reached = self._mirror.sync()
            self._pause = MIRROR_SECONDS if reached else min(2 * self._pause, LONGEST_SECONDS)
            self._mirrored = time.monotonic()

    def _append(self, event: str, trial: str, **more: Any) -> None:
        self._run.journal.append({"event": event, "trial": trial, **more})

    def _state_path(self, trial: str, position: int) -> Path:
        return self._states / f"{trial}-{position}.safetensors"

    def _forget_states(self, trial: str, keep: int | None = None) -> None:
        for path in self._states.glob(f"{trial}-*.safetensors"):
            if keep is None or path != self._state_path(trial, keep):
                path.unlink(missing_ok=True)

    def _write_head(self, trial: str, about: Mapping[str, Any], final: Finished) -> Path:
        """And what it says on report."""
        folder = self._run.new_trial_folder(trial)
        files.write_bytes(folder / "model.safetensors", final.weights)
        files.write_json(folder / "config.json", about)
        write_predictions(folder / "report.parquet", final.report.ids, final.report.logits)
        return folder

    def _head_json(self, final: Finished, config: TrialConfig) -> dict[str, Any]:
        manifest = self._store.manifest
        head: HeadConfig = config.head
        return {
            "head": head.to_json(),
            "inputs": config.inputs,
            "shape": asdict(final.shape),
            "copies": final.copies,
            "trial": final.trial,
            "training": config.training.to_json(),
            "task": dict(manifest.task),
            "encoder": asdict(manifest.encoder),
            "precision": manifest.precision,
            "tokens": manifest.tokens,
            "dtype": manifest.dtype,
            "layers": list(manifest.layers),
            "store": {"path": str(self._store.path), "digest": self._store.digest},
        }


def _report_json(report: Answers) -> dict[str, Any]:
    interval = None if report.interval is None else list(report.interval)
    return {"score": report.score, "interval": interval, "metrics": report.metrics}
