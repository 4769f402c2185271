"""What a search says at its end."""

from typing import Any

from bv_search.run.folder import Run
from bv_search.run.leaderboard import best, leaderboard_text, smallest, summary
from bv_search.run.trial import FAILED


def describe(run: Run) -> str:
    records = run.trials()
    ranked = best(records)
    lines = [leaderboard_text(records, run.study.baseline)]
    if ranked:
        small = smallest(ranked)
        lines.append(
            f"smallest within 0.01 of the best on select: trial {small.id}, {small.parameters:,} parameters"
        )
    failed = [record for record in records if record.status == FAILED]
    lines += [f"trial {record.id} failed: {record.reason}" for record in failed]
    lines.append(f"peak memory of a scan worker: {run.memory()['peak_scan_worker'] / 1e9:.2f} GB")
    if ranked:
        lines.append(f"next: bv-search ensemble {run.path} && bv-search report {run.path}")
    return "\n".join(lines)


def to_json(run: Run) -> dict[str, Any]:
    records = run.trials()
    ranked = best(records)
    return {
        "run": str(run.path),
        "trials": len(records),
        "failed": sum(record.status == FAILED for record in records),
        "baseline": run.study.baseline["report_score"] if run.study.baseline else None,
        "encoder": run.study.baseline,
        "best": summary(ranked[0]) if ranked else None,
        "smallest": summary(smallest(ranked)) if ranked else None,
        "source": run.study.source,
        "seconds": run.seconds(),
        "memory": run.memory(),
    }
