"""What the steps of studies will take, before anything is spent; and beside it, at last, what they took."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bv_search.command import Progress
from bv_search.document import Number, Text
from bv_search.errors import RunError
from bv_search.files import decode_at, read_signed, write_signed
from bv_search.run.tracking import ARTIFACTS
from bv_search.study.config import RUNS, StudiesConfig
from bv_search.study.estimate import Estimate
from bv_search.study.rates import measure
from bv_search.study.steps import (
    EXCHANGE,
    EXTRACT,
    FINETUNE,
    WorkStep,
    is_done,
    plan,
)
from bv_search.study.table import Cell, Form, StudyTable, TableColumn, seconds, size

QUOTE = "quote.json"


@dataclass(frozen=True, kw_only=True)
class StepQuote:
    name: Text
    seconds: Number
    bytes: Number


@dataclass(frozen=True, kw_only=True)
class Quote:
    """Of what is not done yet."""

    steps: tuple[StepQuote, ...]
    done: int  # steps that are done already

    @property
    def by_name(self) -> dict[str, StepQuote]:
        return {step.name: step for step in self.steps}

    @property
    def seconds(self) -> float:
        return sum(step.seconds for step in self.steps)

    @property
    def bytes(self) -> float:
        return sum(step.bytes for step in self.steps)

    def to_json(self) -> dict[str, Any]:
        return {
            "steps": [asdict(step) for step in self.steps],
            "done": self.done,
            "seconds": round(self.seconds, 1),
            "bytes": round(self.bytes),
        }

    def __str__(self) -> str:
        shown = list(_together(self.steps))
        width = max((len(step.name) for step in shown), default=0)
        lines = [
            f"  {step.name:{width}}  {seconds(step.seconds):>9}  {size(step.bytes):>10}" for step in shown
        ]
        total = f"in all: {seconds(self.seconds)}, {size(self.bytes)}"
        return "\n".join([f"{len(self.steps)} steps to do, {self.done} done:", *lines, total])


def _together(steps: Sequence[StepQuote]) -> Iterator[StepQuote]:
    """Exchanges, which are many and small, as one."""
    small = [step for step in steps if step.name.startswith(EXCHANGE)]
    yield from (step for step in steps if step not in small)
    if small:
        spent, taken = sum(step.seconds for step in small), sum(step.bytes for step in small)
        yield StepQuote(name=f"{len(small)} × {EXCHANGE}", seconds=spent, bytes=taken)


def take_quote(config: StudiesConfig, progress: Progress) -> Quote:
    """Nothing is written; where all is done, nothing is measured."""
    steps = plan(config)
    left = [step for step in steps if not is_done(config, step)]
    if not left:
        return Quote(steps=(), done=len(steps))
    estimate = Estimate(config=config, rates=measure(config, progress))
    return Quote(steps=tuple(_quoted(step, *estimate.of(step)) for step in left), done=len(steps) - len(left))


def _quoted(step: WorkStep, spent: float, taken: float) -> StepQuote:
    return StepQuote(name=step.name, seconds=round(spent, 1), bytes=round(taken))


@dataclass(frozen=True, kw_only=True)
class _QuoteFile:
    steps: tuple[StepQuote, ...]


def read_quote(out: Path) -> dict[str, StepQuote]:
    """What was quoted before the steps were done, by their names."""
    path = out / QUOTE
    if not path.is_file():
        return {}
    said = decode_at(_QuoteFile, read_signed(path, RunError), RunError, where=path)
    return {step.name: step for step in said.steps}


def write_quote(out: Path, steps: Mapping[str, StepQuote]) -> None:
    write_signed(out / QUOTE, {"steps": [asdict(step) for step in steps.values()]})


def spent_table(
    config: StudiesConfig, quoted: Mapping[str, StepQuote], took: Mapping[str, float]
) -> StudyTable:
    """Each step, what was quoted of it, and what it took."""
    rows: list[tuple[Cell, ...]] = []
    for step in plan(config):
        quote = quoted.get(step.name)
        rows.append(
            (
                step.name,
                None if quote is None else quote.seconds,
                took.get(step.name),
                None if quote is None else size(quote.bytes),
                size(_bytes_of(config, step)),
            )
        )
    known = [(row[1], row[2]) for row in rows if row[1] is not None and row[2] is not None]
    quote_sum, took_sum = (sum(float(pair[at] or 0) for pair in known) for at in (0, 1))
    total = (
        "in all",
        quote_sum,
        took_sum,
        size(sum(quote.bytes for name, quote in quoted.items() if name in took)),
        size(
            sum(_bytes_of(config, step) for step in plan(config)) + _bytes_at(config.out / RUNS / ARTIFACTS)
        ),
    )
    return StudyTable(
        name="spent",
        title="What each step was quoted to take, and took",
        columns=(
            TableColumn(name="step", form=Form.TEXT),
            TableColumn(name="quoted", form=Form.SECONDS),
            TableColumn(name="took", form=Form.SECONDS),
            TableColumn(name="bytes quoted", form=Form.TEXT),
            TableColumn(name="bytes on disk", form=Form.TEXT),
        ),
        rows=(*rows, total),
        note="Seconds of sessions that were killed are not counted. Sums are of steps that have both; that "
        "of bytes has MLflow's copies of heads, too, which the quotes of runs have.",
    )


def _bytes_of(config: StudiesConfig, step: WorkStep) -> int:
    """What a step has left on disk."""
    if step.kind == FINETUNE:
        places = [config.stage_path(stage) for stage in config.marks]
    elif step.kind == EXTRACT:
        places = [config.store_path(step.stage or 0.0)]
    elif step.kind == EXCHANGE:
        places = [config.exchange_path(step.stage or 0.0, step.scored or 0.0)]
    else:
        places = [config.run_path(step.kind, step.stage or 0.0)]
    return sum(map(_bytes_at, places))


def _bytes_at(place: Path) -> int:
    files = [place] if place.is_file() else place.rglob("*")
    return sum(file.stat().st_size for file in files if file.is_file())
