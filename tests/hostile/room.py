"""A room: an empty folder for one hostile input, and sound things to forge it from."""

import json
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import xxhash

from bv_search.files import digest_bytes, digest_file
from bv_search.run.folder import Run
from bv_search.store.index import COMPACT
from tests.model.small_run import Small

Json = Any
Change = Callable[[Json], object]
"""Changes a decoded document in place; what it gives back, if anything, stands in its place."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """One input: how it is made, and a word of the line that answers it."""

    name: str
    make: Callable[["Room"], list[str]]  # gives the words of the command
    says: str = ""
    status: int = 2


@dataclass(frozen=True, kw_only=True)
class Room:
    place: Path
    small: Small  # a finished study of spans
    classes: Path  # a store of classes, without an encoder
    encoder: Path  # that was never fine-tuned

    def write(self, name: str, content: str | bytes) -> str:
        path = self.place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content)
        return str(path)

    def pipe(self, name: str) -> str:
        """A file that whoever opens it waits at for ever."""
        os.mkfifo(self.place / name)
        return str(self.place / name)

    def replace_by_pipe(self, path: Path) -> None:
        path.unlink()
        os.mkfifo(path)

    def run(self) -> Path:
        return Path(shutil.copytree(self.small.run.path, self.place / "run"))

    def stage(self) -> Path:
        return Path(shutil.copytree(self.small.stage, self.place / "stage"))

    def store(self, source: Path | None = None) -> Path:
        return Path(shutil.copytree(source or self.small.store.path, self.place / "store"))

    def asks_predict(self, out: object) -> list[str]:
        words = ["predict", str(self.small.run.path), "--member", "0002"]
        return [*words, "--out", str(out), "--overwrite"]

    def asks_finetune(self, out: object, fractions: str) -> list[str]:
        words = ["finetune", "--task", "squad2-span", "--encoder", str(self.encoder)]
        return [*words, "--data", str(self.small.data), "--fractions", fractions, "--out", str(out)]

    def head(self) -> Path:
        """Of a trial, by itself."""
        return Path(shutil.copytree(self.small.run.path / "trials" / "0001", self.place / "head"))


def given(make: Callable[..., list[str]], *arguments: Any) -> Callable[[Room], list[str]]:
    """A case of several that differ by what they are given."""
    return lambda room: make(room, *arguments)


def forging(forge: Callable[..., object], *arguments: Any) -> Callable[[Path], object]:
    """The same of what changes a folder."""
    return lambda place: forge(place, *arguments)


def change_json(path: Path, change: Change) -> None:
    value = json.loads(path.read_text())
    other = change(value)
    path.write_text(json.dumps(value if other is None else other))


def forge_manifest(store: Path, change: Change) -> None:
    """A manifest that says something else, with the digest of what it says."""
    path = store / "manifest.json"
    value = json.loads(path.read_text())
    other = change(value)
    value = value if other is None else other
    if isinstance(value, dict):
        body = {name: item for name, item in value.items() if name != "digest"}
        compact = json.dumps(body, sort_keys=True, separators=(",", ":"))
        value = {**body, "digest": digest_bytes(compact.encode())}
    path.write_text(json.dumps(value, indent=1) + "\n")


def forge_index(store: Path, change: Callable[[pa.Table], pa.Table], split: str = "dev") -> None:
    """An index with other rows, and a manifest that has its digest."""
    path = store / split / "index.parquet"
    table = pq.read_table(path)
    groups = pq.ParquetFile(path).metadata
    sizes = [groups.row_group(number).num_rows for number in range(groups.num_row_groups)]
    changed, start = change(table), 0
    with pq.ParquetWriter(path, changed.schema, **COMPACT) as writer:
        for size in sizes:
            writer.write_table(changed.slice(start, size), row_group_size=max(size, 1))
            start += size
    note_file(store, split, "index", path)


def note_file(store: Path, split: str, name: str, path: Path) -> None:
    def change(manifest: Json) -> None:
        manifest["splits"][split][name] |= {"size": path.stat().st_size, "digest": digest_file(path)}

    forge_manifest(store, change)


def with_column(table: pa.Table, name: str, values: list[Any]) -> pa.Table:
    """Other values in the first rows of a column."""
    number = table.schema.get_field_index(name)
    old = table.column(name).to_pylist()
    column = pa.array([*values, *old[len(values) :]], table.schema.field(number).type)
    return table.set_column(number, table.schema.field(number), column)


def forge_line(run: Path, line: str | bytes) -> None:
    """A line of the journal with the checksum of what stands in it."""
    body = line.encode("utf-8", "surrogatepass") if isinstance(line, str) else line
    assert body.startswith(b"{")
    body = body[1:]
    with (run / "journal.jsonl").open("ab") as file:
        file.write(b'{"xxh3":"' + xxhash.xxh3_64_hexdigest(body).encode() + b'",' + body + b"\n")


def forge_event(run: Path, event: Mapping[str, Any]) -> None:
    forge_line(run, json.dumps(event))


def forge_study(run: Path, change: Change) -> None:
    """The study goes on as something else."""
    study = Run.open(run).study.to_json()
    other = change(study)
    forge_event(run, {"event": "study", "study": study if other is None else other, "at": 1.0})


def put(*path: Any, value: Any) -> Change:
    """A change that puts a value at a place: put("splits", "dev", "windows", value=-1)."""

    def change(document: Json) -> None:
        for step in path[:-1]:
            document = document[step]
        document[path[-1]] = value

    return change


def drop(*path: Any) -> Change:
    def change(document: Json) -> None:
        for step in path[:-1]:
            document = document[step]
        del document[path[-1]]

    return change


def instead(value: Any) -> Change:
    """Another document altogether."""
    return lambda document: value
