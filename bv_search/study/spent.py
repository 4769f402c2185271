"""What each step was quoted to take, and took."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from bv_search.run.tracking import ARTIFACTS
from bv_search.study.config import RUNS, StudiesConfig
from bv_search.study.quote import StepQuote
from bv_search.study.steps import EXCHANGE, EXTRACT, FINETUNE, WorkStep, plan
from bv_search.study.table import Form, StudyTable, TableColumn


@dataclass(frozen=True, kw_only=True)
class Spent:
    """None where nobody quoted it, or it was done in no session of this command."""

    name: str
    quoted: float | None  # seconds
    took: float | None
    bytes_quoted: int | None
    bytes: int


def spent_table(
    config: StudiesConfig, quoted: Mapping[str, StepQuote], took: Mapping[str, float]
) -> StudyTable:
    each = list(_spent(config, quoted, took))
    both = [one for one in each if one.quoted is not None and one.took is not None]
    copies = _bytes_at(config.out / RUNS / ARTIFACTS)
    total = Spent(
        name="in all",
        quoted=sum(one.quoted or 0.0 for one in both),
        took=sum(one.took or 0.0 for one in both),
        bytes_quoted=sum(one.bytes_quoted or 0 for one in each),
        bytes=sum(one.bytes for one in each) + copies,
    )
    return StudyTable(
        name="spent",
        title="What each step was quoted to take, and took",
        columns=(
            TableColumn(name="step", form=Form.TEXT),
            TableColumn(name="quoted", form=Form.SECONDS),
            TableColumn(name="took", form=Form.SECONDS),
            TableColumn(name="bytes quoted", form=Form.BYTES),
            TableColumn(name="bytes on disk", form=Form.BYTES),
        ),
        rows=tuple((one.name, one.quoted, one.took, one.bytes_quoted, one.bytes) for one in (*each, total)),
        note="Seconds of sessions that were killed are not counted. Seconds in all are of steps that have "
        "both; bytes in all have MLflow's copies of heads, as the quotes of runs do.",
    )


def _spent(
    config: StudiesConfig, quoted: Mapping[str, StepQuote], took: Mapping[str, float]
) -> Iterator[Spent]:
    """Exchanges, which are many and small, as one."""
    steps = plan(config)
    small = [step for step in steps if step.kind == EXCHANGE]
    for step in steps:
        if step not in small:
            yield _of(step.name, [step], config, quoted, took)
    if small:
        yield _of(f"{len(small)} × {EXCHANGE}", small, config, quoted, took)


def _of(
    name: str,
    steps: list[WorkStep],
    config: StudiesConfig,
    quoted: Mapping[str, StepQuote],
    took: Mapping[str, float],
) -> Spent:
    quotes = [quoted[step.name] for step in steps if step.name in quoted]
    times = [took[step.name] for step in steps if step.name in took]
    return Spent(
        name=name,
        quoted=float(sum(quote.seconds for quote in quotes)) if quotes else None,
        took=sum(times) if times else None,
        bytes_quoted=round(sum(quote.bytes for quote in quotes)) if quotes else None,
        bytes=sum(_bytes_of(config, step) for step in steps),
    )


def _bytes_of(config: StudiesConfig, step: WorkStep) -> int:
    """What a step has left on disk."""
    if step.kind == FINETUNE:
        return sum(_bytes_at(config.stage_path(stage)) for stage in config.marks)
    assert step.stage is not None, "only fine-tuning is of all stages"
    if step.kind == EXTRACT:
        return _bytes_at(config.store_path(step.stage))
    if step.kind == EXCHANGE:
        assert step.scored is not None, "an exchange is between two stages"
        return _bytes_at(config.exchange_path(step.stage, step.scored))
    return _bytes_at(config.run_path(step.kind, step.stage))


def _bytes_at(place: Path) -> int:
    files = [place] if place.is_file() else place.rglob("*")
    return sum(file.stat().st_size for file in files if file.is_file())
