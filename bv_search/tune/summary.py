"""What a search says at its end."""

from typing import Any

from bv_search.model.standings import BEST, Standing, Standings, compare, standings_text
from bv_search.run.folder import Run
from bv_search.run.front import front_text
from bv_search.run.leaderboard import best, leaderboard_text, smallest, standard_error, summary
from bv_search.run.roles import open_store
from bv_search.run.trial import FAILED
from bv_search.tune import step_times


def describe(run: Run, standings: Standings | None = None) -> str:
    """`standings`, where they are known already."""
    standings = standings or compare_heads(run)
    records = run.trials()
    ranked = best(records)
    lines = [leaderboard_text(records, run.study.baseline)]
    if standings is not None:
        lines += ["", standings_text(standings, str(run.study.task["metric"])), ""]
        small, error = smallest(ranked), standard_error(ranked[0])
        lines.append(
            f"smallest within one standard error ({error:.4f}) of the best on select: trial {small.id}, "
            f"{small.parameters:,} parameters"
        )
    if front := run.front():
        lines += ["", front_text(front), ""]
    failed = [record for record in records if record.status == FAILED]
    lines += [f"trial {record.id} failed: {record.reason}" for record in failed]
    lines.append(step_times.describe(run.seconds()))
    lines.append(f"peak memory of a scan worker: {run.memory()['peak_scan_worker'] / 1e9:.2f} GB")
    if ranked:
        lines.append(f"next: bv-search report {run.path}")
    return "\n".join(lines)


def compare_heads(run: Run) -> Standings | None:
    """The ladder and the heads above it; None where no head has finished."""
    return compare(run, open_store(run)) if best(run.trials()) else None


def to_json(run: Run, standings: Standings | None = None) -> dict[str, Any]:
    standings = standings or compare_heads(run)
    searched = [record for record in run.trials() if record.is_searched]
    ranked = best(run.trials())
    return {
        "run": str(run.path),
        "trials": len(searched),
        "failed": sum(record.status == FAILED for record in run.trials()),
        "baseline": run.study.baseline["report_score"] if run.study.baseline else None,
        "encoder": run.study.baseline,
        "ladder": [_rung_json(rung) for rung in standings.ladder] if standings else [],
        "best": {**summary(ranked[0]), **_luck_json(standings), **_above(standings)}
        if ranked and standings
        else None,
        "smallest": summary(smallest(ranked)) if ranked else None,
        "front": None if (front := run.front()) is None else [summary(record) for record in front],
        "ended": run.ending(),
        "source": run.study.source,
        "seconds": run.seconds(),
        "memory": run.memory(),
    }


def _rung_json(standing: Standing) -> dict[str, Any]:
    return {
        "rung": standing.role,
        "trial": standing.trial,
        "score": standing.score,
        "select_score": standing.select_score,
        "interval": list(standing.interval),
        "parameters": standing.parameters,
        "over_rung_below": None if standing.below is None else standing.below.delta.to_json(),
    }


def _luck_json(standings: Standings) -> dict[str, Any]:
    """How much of the best head's score on select is luck, as the best of how many."""
    luck = standings.luck
    return {"luck": None if luck is None else luck.share, "best_of": None if luck is None else luck.heads}


def _above(standings: Standings) -> dict[str, Any]:
    """How far the best head is above the encoder, and above the best of the ladder."""
    standing = standings.of(BEST)
    assert standing is not None, "a run with a head has a best one"
    gain = standings.gain(standing.evaluation)
    return {
        "over_encoder": None if standing.delta is None else standing.delta.to_json(),
        "over_ladder": None if gain is None else {"rung": gain.over.role, **gain.delta.to_json()},
    }
