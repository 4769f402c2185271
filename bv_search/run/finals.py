"""What a head leaves in its run when its way is over: its folder, and the event that makes it count."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bv_search.files import DISK, Disk
from bv_search.heads.folder import write_head
from bv_search.run.folder import Run
from bv_search.run.journal import Event
from bv_search.run.predictions import predictions_file, write_predictions
from bv_search.run.trial import FAILED
from bv_search.scan.outcome import Final, Finished, RoleAnswers
from bv_search.tasks.row import Role

SELECT, TRAIN, REPORT = map(predictions_file, (Role.SELECT, Role.TRAIN, Role.REPORT))
DIGITS = 6  # of a score that is drawn


def write_final(run: Run, final: Final, about: Mapping[str, Any], status: str, disk: Disk = DISK) -> Event:
    """The files are there; the event is for the journal. `about` goes into the head's config.json."""
    folder = write_finished(run, final.trial, about, final, disk)
    write_predictions(folder / SELECT, final.select.ids, final.select.logits, disk)
    if final.train is not None:
        write_predictions(folder / TRAIN, final.train.ids, final.train.logits, disk)
    return {
        "event": "finish",
        "trial": final.trial,
        "status": status,
        "score": final.select.score,
        "loss": final.select.loss,
        "draws": [round(score, DIGITS) for score in final.select.draws],
        "parameters": final.parameters,
        "report": report_json(final.report),
        "files": run.trial_digests(final.trial),
    }


def write_finished(
    run: Run, trial: str, about: Mapping[str, Any], final: Finished, disk: Disk = DISK
) -> Path:
    """The head, and what it says on report."""
    folder = run.new_trial_folder(trial, disk)
    write_head(folder, about, final.weights, disk)
    write_predictions(folder / REPORT, final.report.ids, final.report.logits, disk)
    return folder


def failure(trial: str, reason: str) -> Event:
    return {"event": "finish", "trial": trial, "status": FAILED, "reason": reason}


def report_json(report: RoleAnswers) -> dict[str, Any]:
    interval = None if report.interval is None else list(report.interval)
    return {"score": report.score, "interval": interval, "metrics": report.metrics}
