"""What a search says at its end."""

from typing import Any

from bv_search.run.folder import Run
from bv_search.run.leaderboard import leaderboard_text, smallest, summary
from bv_search.run.trial import FAILED


def describe(run: Run) -> str:
    records = run.trials()
    lines = [leaderboard_text(records, run.study.baseline)]
    small = smallest(run.finished_trials())
    lines.append(
        f"smallest within 0.01 of the best on select: trial {small.id}, {small.parameters:,} parameters"
    )
    failed = [record for record in records if record.status == FAILED]
    lines += [f"trial {record.id} failed: {record.reason}" for record in failed]
    lines.append(f"peak memory of a scan worker: {run.memory()['peak_scan_worker'] / 1e9:.2f} GB")
    lines.append(f"next: bv-search ensemble {run.path} && bv-search report {run.path}")
    return "\n".join(lines)


def to_json(run: Run) -> dict[str, Any]:
    records, ranked = run.trials(), run.finished_trials()
    return {
        "run": str(run.path),
        "trials": len(records),
        "failed": sum(record.status == FAILED for record in records),
        "baseline": run.study.baseline["report_score"] if run.study.baseline else None,
        "encoder": run.study.baseline,
        "best": summary(ranked[0]),
        "smallest": summary(smallest(ranked)),
        "source": run.study.source,
        "seconds": run.seconds(),
        "memory": run.memory(),
    }
