"""What the steps of studies will take, before anything is spent: seconds and bytes, from measured rates.

What no rate says in advance is how soon heads have learned: SEARCHED and LEARNED are what searches and tables
of this project had on MRPC, RTE, SST-2 and STS-B.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from bv_search.command import Progress
from bv_search.document import Number, Text
from bv_search.errors import RunError
from bv_search.files import decode_at, read_signed, write_signed
from bv_search.run.tracking import ARTIFACTS
from bv_search.scan.course import Course
from bv_search.scan.ladder import rungs_of
from bv_search.scan.trial import TrialConfig
from bv_search.study import spaces
from bv_search.study.config import RUNS, StudiesConfig
from bv_search.study.rates import MachineRates, measure
from bv_search.study.steps import (
    EXCHANGE,
    EXTRACT,
    FINETUNE,
    GRID,
    SEARCH,
    WINNER,
    WorkStep,
    is_done,
    plan,
)
from bv_search.study.table import Cell, Form, StudyTable, TableColumn, seconds, size
from bv_search.tasks.registry import find_task
from bv_search.tasks.row import Role
from bv_search.tune.config import DEFAULT_TRIALS
from bv_search.tune.sizes import count
from bv_search.tune.space import Space

QUOTE = "quote.json"
SEARCHED, LEARNED = 0.13, 0.3
"""Of the longest course of `passes: auto`: how far a head of a search goes, and one that no rung stops."""
START = 10.0  # seconds of a run: its workers, its trials, MLflow
LADDER = 5.0  # seconds, where probes are solved
PREPARE = 8.0  # seconds of a fine-tuning or extraction: processes, tokens
ANSWER_BYTES = 4
SAMPLED = 12  # heads of a space that are measured


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
    estimate = _Estimate(config=config, rates=measure(config, progress))
    return Quote(steps=tuple(map(estimate.of, left)), done=len(steps) - len(left))


@dataclass(frozen=True, kw_only=True, eq=False)
class _Estimate:
    config: StudiesConfig
    rates: MachineRates

    def of(self, step: WorkStep) -> StepQuote:
        match step.kind:
            case "finetune":
                spent, taken = self._finetuning
            case "extract":
                spent, taken = self._extraction
            case "exchange":
                spent, taken = self._exchange
            case _:
                spent, taken = self._run(step.kind)
        return StepQuote(name=step.name, seconds=round(spent, 1), bytes=round(taken))

    @cached_property
    def _finetuning(self) -> tuple[float, float]:
        rates, marks = self.rates, self.config.marks
        training = max(marks) * rates.windows[Role.TRAIN] / rates.finetune
        held = rates.windows[Role.SELECT] + rates.windows[Role.REPORT]
        scoring = sum(mark > 0 for mark in marks) * held * rates.tokens / self._encoding
        return PREPARE + training + scoring, len(marks) * rates.encoder_bytes

    @property
    def _encoding(self) -> float:
        """Tokens a second, on all cores."""
        return self.rates.encode * self.rates.cores

    @cached_property
    def _extraction(self) -> tuple[float, float]:
        rates = self.rates
        windows = sum(rates.windows.values())
        # the index has the tokens of every window, and of spans their places and passages
        index = windows * rates.tokens * (2 if rates.one_token else 8)
        kept = windows * rates.stored_tokens * rates.token_bytes if self.config.keep_stores else 0.0
        return PREPARE + windows * rates.tokens / self._encoding, kept + index

    @cached_property
    def _exchange(self) -> tuple[float, float]:
        """A head's forward pass is a third of what it takes to train it."""
        windows = self.rates.windows[Role.REPORT]
        heads = self.config.seeds * self._grid_seconds / 3 * windows
        live = 0.0 if self.config.keep_stores else windows * self.rates.tokens / self._encoding
        return 1.0 + heads + live, 300 * self.config.seeds * len(self._grid_heads)

    @cached_property
    def _grid_heads(self) -> list[TrialConfig]:
        return _by_head(self._grid_space)

    @cached_property
    def _grid_space(self) -> Space:
        task = find_task(self.config.task)
        return spaces.load(spaces.grid_of(self.config, task), one_token=self.rates.one_token)

    @cached_property
    def _searched(self) -> list[TrialConfig]:
        """A sample of the space's heads."""
        task = find_task(self.config.task)
        space = spaces.load(spaces.searched(self.config, task), one_token=self.rates.one_token)
        found = _by_head(space)
        return found[:: -(-len(found) // SAMPLED)]

    def _run(self, kind: str) -> tuple[float, float]:
        heads = self._grid_heads if kind == GRID else self._searched
        trials = self._trials(kind)
        passes = {GRID: LEARNED, SEARCH: SEARCHED}.get(kind, LEARNED)
        share = (
            sum(self.config.shares) / len(self.config.shares) if kind not in (GRID, SEARCH, WINNER) else 1.0
        )
        if kind == GRID:
            training = self.config.seeds * self._grid_seconds * self._mean_passes(heads, passes)
        else:
            training = trials * self._searched_seconds / len(heads) * self._mean_passes(heads, passes) * share
        training *= self._windows
        ladder = self._ladder if kind == GRID else 0.0
        live = 0.0 if self.config.keep_stores else self._live(heads, passes, trials)
        parameters = sum(count(each.head, self.rates.shape) for each in heads) / len(heads)
        answers = (
            self.rates.windows[Role.SELECT] + self.rates.windows[Role.REPORT]
        ) * self.rates.stored_tokens
        # each head as a file of the run, and again as one of MLflow's
        written = trials * ANSWER_BYTES * (2 * parameters + answers * self.rates.shape.outputs)
        return START + ladder + training + live, written

    def _trials(self, kind: str) -> int:
        config = self.config
        return {
            GRID: config.seeds * len(self._grid_heads),
            SEARCH: config.trials or DEFAULT_TRIALS,
            WINNER: config.seeds,
        }.get(kind, config.seeds * len(config.shares))

    @property
    def _windows(self) -> float:
        return self.rates.windows[Role.TRAIN]

    def _passes(self, config: TrialConfig, open_share: float) -> float:
        course = Course.of(config.training, max(1, round(self._windows)))
        return course.passes * (open_share if course.is_open else 1.0)

    def _mean_passes(self, heads: Sequence[TrialConfig], open_share: float) -> float:
        return sum(self._passes(each, open_share) for each in heads) / len(heads)

    @cached_property
    def _grid_seconds(self) -> float:
        return self.rates.seconds_of(self._grid_heads)

    @cached_property
    def _searched_seconds(self) -> float:
        return self.rates.seconds_of(self._searched)

    @cached_property
    def _ladder(self) -> float:
        if self.rates.one_token:
            return LADDER
        probes = [rung.config for rung in rungs_of(self.rates.shape) if not rung.is_solved]
        passes = self._passes(probes[0], LEARNED)
        return self.rates.seconds_of(probes) * passes * self._windows

    def _live(self, heads: Sequence[TrialConfig], open_share: float, trials: int) -> float:
        """The encoder makes the hidden states of every pass of a pack, and those of select and report."""
        passes = max(self._passes(each, open_share) for each in heads)
        windows = passes * self._windows + self.rates.windows[Role.SELECT] + self.rates.windows[Role.REPORT]
        return windows * self.rates.tokens / self._encoding


def _by_head(space: Space) -> list[TrialConfig]:
    """A config of each of its heads."""
    return list({config.head: config for config in space.typed_corners()}.values())


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
