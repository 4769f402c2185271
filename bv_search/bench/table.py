"""A table: every point of a finite space as it was trained, so that a search on it costs next to nothing.

A small Parquet file, one row a point. Its metadata say what the heads were trained on, and what packs cost.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bv_search.errors import DataError
from bv_search.files import write_atomic
from bv_search.scan.checks import Check
from bv_search.scan.trial import TrialConfig
from bv_search.space.space import Config, Space, parse_space
from bv_search.tune.packing import Rungs, plan_rungs

ABOUT = b"bv.table"
FOUND = pa.struct({"position": pa.int32(), "rows": pa.int32(), "score": pa.float32(), "loss": pa.float32()})
SCHEMA = pa.schema(
    {"config": pa.string(), "parameters": pa.int32(), "found": pa.list_(FOUND), "report": pa.float64()}
)


@dataclass(frozen=True, kw_only=True)
class Learned:
    """A point as it was trained, to its end."""

    config: Config
    parameters: int
    found: tuple[Check, ...]  # gains on its way, and its worth at rungs; the last is its end
    report: float | None  # None: it diverged

    @cached_property
    def trial(self) -> TrialConfig:
        return TrialConfig.from_json(self.config)

    @property
    def diverged(self) -> bool:
        return self.report is None

    @property
    def end(self) -> Check:
        return self.found[-1]

    def ends_by(self, position: int) -> bool:
        return self.diverged or self.end.position <= position

    def reached(self, position: int) -> int:
        return min(position, self.end.position)

    def worth(self, position: int) -> Check:
        return next(check for check in reversed(self.found) if check.position <= position)

    def rows(self, start: int, stop: int) -> int:
        """About as many as it reads between two positions; of one that diverged, none are counted."""
        if self.diverged:
            return 0
        return round((self.reached(stop) - start) * self.end.rows / self.end.position)


@dataclass(frozen=True, kw_only=True)
class TableGround:
    """What the heads of a table were trained on."""

    name: str
    store: str  # its digest
    space: Mapping[str, Any]
    windows: int  # of the train split
    one_token: bool


@dataclass(frozen=True, kw_only=True)
class Table:
    ground: TableGround
    learned: Mapping[str, Learned]  # by the key of its config
    rates: Mapping[int, float] = field(default_factory=dict)  # rows a second, by how many heads share a pack

    @cached_property
    def space(self) -> Space:
        return parse_space(self.ground.space, self.ground.name)

    @cached_property
    def missing(self) -> list[Config]:
        points = map(self.space.config, self.space.points())
        return [config for config in points if key_of(config) not in self.learned]

    def shuffled(self, seed: int) -> Self:
        """The same heads, each in the place of another: nothing is left to learn."""
        keys = list(self.learned)
        order = np.random.default_rng(seed).permutation(len(keys))
        return replace(
            self, learned={keys[n]: each for n, each in zip(order, self.learned.values(), strict=True)}
        )

    def of(self, config: Config) -> Learned:
        return self.learned[key_of(config)]

    def seconds(self, rows: Sequence[int]) -> float:
        """What a pack takes whose heads read so many rows each: those that have learned leave it."""
        sizes = sorted(self.rates)
        each = [1 / self.rates[size] for size in sizes]
        steps = np.diff(sorted(rows), prepend=0)
        return float(steps @ np.interp(range(len(rows), 0, -1), sizes, each))

    def rungs(self, *, halving: bool) -> Rungs:
        """Where a search on this ground compares heads."""
        configs, ground = self.space.typed_corners(), self.ground
        return plan_rungs(configs, ground.windows, halving=halving, one_token=ground.one_token)

    def write(self, path: Path) -> None:
        rows = [
            {
                "config": key,
                "parameters": each.parameters,
                "found": [asdict(check) for check in each.found],
                "report": each.report,
            }
            for key, each in self.learned.items()
        ]
        about = {**asdict(self.ground), "rates": self.rates}
        table = pa.Table.from_pylist(rows, SCHEMA.with_metadata({ABOUT: json.dumps(about)}))
        write_atomic(path, lambda file: pq.write_table(table, file, compression="zstd"))


def read_table(path: Path) -> Table:
    try:
        table = pq.read_table(path, memory_map=False)
        about = json.loads(table.schema.metadata[ABOUT])
    except (OSError, KeyError, TypeError, ValueError, pa.ArrowException) as error:
        raise DataError("is no table of heads", where=path, found=error) from error
    rates = {int(size): rate for size, rate in about.pop("rates").items()}
    return Table(ground=TableGround(**about), learned=dict(map(_row, table.to_pylist())), rates=rates)


def _row(row: Mapping[str, Any]) -> tuple[str, Learned]:
    found = tuple(Check(**check) for check in row["found"])
    config = json.loads(row["config"])
    return row["config"], Learned(
        config=config, parameters=row["parameters"], found=found, report=row["report"]
    )


def key_of(config: Config) -> str:
    return json.dumps(config, sort_keys=True)
