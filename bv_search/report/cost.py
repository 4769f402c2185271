"""What a run cost: seconds and bytes, step by step, as far as they were kept."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bv_search.encoder.stage import Stage, epochs, is_stage, read_stage
from bv_search.errors import EncoderError
from bv_search.report.facts import Facts
from bv_search.run.folder import REPORT_HTML, REPORT_MD
from bv_search.store.layout import MANIFEST


@dataclass(frozen=True, kw_only=True)
class StepCost:
    step: str
    seconds: float | None  # None: not kept
    size: int | None  # bytes on disk; None: not here, or none of its own
    is_part: bool = False  # of the step above


def stage_of(facts: Facts) -> Stage | None:
    """What the store's encoder says of its fine-tuning, where its folder is still there, and whole."""
    place = facts.store.manifest.encoder.stage
    if place is None or not is_stage(Path(place)):
        return None
    try:
        return read_stage(Path(place))
    except EncoderError:
        return None


def costs_of(facts: Facts, stage: Stage | None) -> list[StepCost]:
    return list(_costs(facts, stage))


def _costs(facts: Facts, stage: Stage | None) -> Iterator[StepCost]:
    place = facts.store.manifest.encoder.stage
    if stage is not None and place is not None:
        yield StepCost(
            step=f"finetune, {epochs(stage.fraction)}", seconds=stage.seconds, size=_size(Path(place))
        )
    files = sum(entry.size for entry in facts.store.manifest.files())
    yield StepCost(step="extract", seconds=None, size=files + (facts.store.folder.size(MANIFEST) or 0))
    steps = facts.run.seconds()
    run = _size(facts.run.path, but=(REPORT_HTML, REPORT_MD))  # the same, however often it is reported
    yield StepCost(step="tune", seconds=steps.pop("total", None), size=run)
    for step, seconds in steps.items():
        yield StepCost(step=step, seconds=seconds, size=None, is_part=True)


def _size(folder: Path, but: tuple[str, ...] = ()) -> int:
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return sum(path.stat().st_size for path in files if path.name not in but)
