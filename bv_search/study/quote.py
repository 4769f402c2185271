"""What the steps of studies will take, before anything is spent; and beside it, at last, what they took."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bv_search.command import Progress
from bv_search.document import Number, Text
from bv_search.errors import RunError
from bv_search.files import decode_at, read_signed, write_signed
from bv_search.study.config import StudiesConfig
from bv_search.study.estimate import Estimate
from bv_search.study.rates import measure
from bv_search.study.steps import (
    EXCHANGE,
    WorkStep,
    is_done,
    plan,
)
from bv_search.study.table import seconds, size

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
