"""Fine-tuning from beginning to end: a stage, and its score, at every fraction that was asked for."""

from collections.abc import Sequence
from typing import Any

from bv_search.command import Progress
from bv_search.encoder.identity import weights_files
from bv_search.encoder.location import locate_encoder
from bv_search.encoder.stage import stage_name
from bv_search.finetune.config import FinetuneConfig
from bv_search.finetune.ride import plan_ride
from bv_search.finetune.saved_heads import SavedHeads
from bv_search.finetune.stage_folder import SavedStage, check_output
from bv_search.run.folder import LEADERBOARD
from bv_search.run.leaderboard import summary
from bv_search.tasks.registry import find_task


def run(config: FinetuneConfig, progress: Progress) -> list[SavedStage]:
    """Stages in the order of their fractions; those already there with the same settings are kept."""
    task = find_task(config.task)
    ride = None
    if config.heads is not None:
        ride = plan_ride(config.heads, trials=config.trials, seed=config.seed)
    check_output(config.out)
    weights_files(locate_encoder(config.encoder).folder)
    # torch takes seconds to load, and a mistyped name should not
    from bv_search.finetune.launch import launch

    stages: dict[float, SavedStage] = {}
    for event in launch(config, task, ride):
        if isinstance(event, SavedStage):
            stages.setdefault(event.stage.fraction, event)  # workers that begin again tell of it once more
            if not event.kept:
                progress.say(f"stage {stage_name(event.stage.fraction)} is written to {event.path}")
            if event.heads is not None and not event.heads.kept:
                progress.say(describe_heads(event.heads))
        elif event.stays:
            progress.say(event.text)
        else:
            progress.update(event.text)
    return [stages[fraction] for fraction in sorted(stages)]


def describe(saved: SavedStage) -> str:
    """One line on a stage: its score on report, with the interval."""
    stage = saved.stage
    name = f"stage {stage_name(stage.fraction):>4}"
    if not stage.metrics or stage.interval is None:
        return f"{name}  never fine-tuned, no predictions of its own  {saved.path}"
    low, high = stage.interval
    figures = ", ".join(
        f"{key} {value:.3f}" for key, value in stage.metrics["report"].items() if key != "score"
    )
    score = f"report {stage.metrics['report']['score']:.3f} [{low:.3f}, {high:.3f}]"
    line = f"{name}  {score}  ({figures})  {stage.seconds:.0f} s  {saved.path}"
    return line if saved.heads is None else f"{line}\n{describe_heads(saved.heads)}"


def describe_heads(heads: SavedHeads) -> str:
    """One line on the best head of a stage by select, to be read below the encoder's own."""
    top = heads.best
    if top is None or top.report_score is None or top.interval is None:
        return f"     heads  all {heads.heads} have failed: {heads.path / LEADERBOARD} says why"
    low, high = top.interval
    which = f"{top.config['head']['kind']}, {top.parameters:,} parameters, select {top.score:.3f}"
    return (
        f"     heads  report {top.report_score:.3f} [{low:.3f}, {high:.3f}]  "
        f"(best of {heads.heads}: {which})  {heads.seconds:.0f} s  {heads.path}"
    )


def to_json(stages: Sequence[SavedStage]) -> dict[str, Any]:
    return {"stages": [_entry(saved) for saved in stages]}


def _entry(saved: SavedStage) -> dict[str, Any]:
    stage = saved.stage
    return {
        "fraction": stage.fraction,
        "path": str(saved.path),
        "metrics": stage.metrics.get("report", {}),
        "select_metrics": stage.metrics.get("select", {}),
        "interval": stage.interval,
        "seconds": stage.seconds,
        "kept": saved.kept,
        "heads": None if saved.heads is None else _heads_entry(saved.heads),
    }


def _heads_entry(heads: SavedHeads) -> dict[str, Any]:
    return {
        "path": str(heads.path),
        "heads": heads.heads,
        "seconds": heads.seconds,
        "best": None if heads.best is None else summary(heads.best),
    }
