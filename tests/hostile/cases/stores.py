"""Stores whose digests agree, and whose content makes no sense."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tests.hostile.room import (
    Case,
    Change,
    Room,
    drop,
    forge_index,
    forge_manifest,
    forging,
    given,
    instead,
    put,
    with_column,
)


def _scale(value: Any) -> Change:
    """Windows of a split and of its blocks, all the same factor, so that sums agree."""

    def change(manifest: Any) -> None:
        split = manifest["splits"]["dev"]
        for part in (split, *split["blocks"]):
            part["windows"] *= value

    return change


def _labels(count: int) -> Change:
    return put("task", "labels", value=[f"c{number}" for number in range(count)])


MANIFESTS: dict[str, Change] = {
    "no splits": put("splits", value={}),
    "windows below zero": _scale(-1),
    "windows of zero": _scale(0),
    "windows of a million million": _scale(10**12),
    "tokens below zero": put("splits", "dev", "encoded_tokens", value=-5),
    "another dtype": put("dtype", value="float32"),
    "an unknown dtype": put("dtype", value="float8"),
    "an unknown format": put("format", value="zip"),
    "an unknown role": put("splits", "dev", "role", value="test"),
    "unknown tokens": put("tokens", value="some"),
    "an unknown precision": put("precision", value="float1"),
    "a shape of zero": put("shape", value=[5, 0]),
    "a shape below zero": put("shape", value=[5, -24]),
    "a shape of a million million": put("shape", value=[5, 10**12]),
    "a shape of three": put("shape", value=[5, 24, 1]),
    "another width": put("shape", value=[5, 12]),
    "layers that are no names": put("layers", value=[1, 2, 3, 4, 5]),
    "layers of one name": put("layers", value=["layer 1"] * 5),
    "layers of unknown names": put("layers", value=["a", "b", "c", "d", "e"]),
    "no layers": lambda m: {**m, "layers": [], "shape": [0, 24]},
    "a size below zero": put("splits", "dev", "index", "size", value=-1),
    "a digest that is none": put("splits", "dev", "index", "digest", value="abc"),
    "a digest that is a number": put("splits", "dev", "index", "digest", value=5),
    "a file outside": put("splits", "dev", "index", "file", value="../../etc/passwd"),
    "a file at the root": put("splits", "dev", "index", "file", value="/etc/passwd"),
    "a file with a zero byte": put("splits", "dev", "index", "file", value="a\0b"),
    "a file of half a character": put("splits", "dev", "index", "file", value="\ud800"),
    "a file without a name": put("splits", "dev", "index", "file", value=""),
    "two splits in one file": lambda m: m["splits"]["dev"]["index"].update(m["splits"]["train"]["index"]),
    "a block without digests of layers": put("splits", "dev", "blocks", 0, "layers", value=[]),
    "a block of another size": put("splits", "dev", "blocks", 0, "size", value=1),
    "a split with a bad name": lambda m: m["splits"].update({"../x": m["splits"].pop("dev")}),
    "parameters below zero": put("encoder", "parameters", value=-1),
    "parameters of zero": put("encoder", "parameters", value=0),
    "parameters that are a fraction": put("encoder", "parameters", value=1.5),
    "a fraction below zero": put("encoder", "fraction", value=-1.0),
    "a baseline that is no number": put("baseline", "select_score", value=float("nan")),
    "a baseline without end": put("baseline", "report_score", value=float("inf")),
    "a baseline that is a word": put("baseline", "select", value={"f1": "good"}),
    "a batch below zero": put("batch_tokens", value=-1),
    "a seed that is a fraction": put("seed", value=1.5),
    "no task": put("task", value={}),
    "a task that is a list": put("task", value=[]),
    "a task of an unknown kind": put("task", "kind", value="translation"),
    "a task of an unknown metric": put("task", "metric", value="beauty"),
    "a task with a billion outputs": put("task", "outputs", value=10**9),
    "a task without labels": _labels(0),
    "a task of one label": _labels(1),
    "a task of a million labels": _labels(1_000_000),
    "a task of a label twice": put("task", "labels", value=["a", "a"]),
    "labels that are numbers": put("task", "labels", value=[1, 2]),
    "labels that are a word": put("task", "labels", value="ab"),
    "a task of length zero": put("task", "max_length", value=0),
    "a task of length a million million": put("task", "max_length", value=10**12),
    "a task of length a word": put("task", "max_length", value="long"),
    "a task of a name that leads out": put("task", "name", value="../../x"),
    "a task whose name is a number": put("task", "name", value=5),
    "a layout that is a list": put("task", "layout", value=[]),
    "a layout without columns": put("task", "layout", "columns", value=[]),
    "a layout of an unknown field": put("task", "layout", "x", value=1),
    "columns that are numbers": put("task", "layout", "columns", 0, "text_a", value=5),
    "a report split that is a number": put("task", "layout", "report", value=[5]),
    "another version": put("format_version", value=99),
    "a version that is true": put("format_version", value=True),
    "an unknown field": put("colour", value="red"),
    "a field less": drop("dtype"),
    "a list": instead([1]),
    "a word": instead("manifest"),
    "a tokenizer that is a list": put("tokenizer", value=[1]),
    "statistics that are null": put("statistics", value=None),
}


def _raw(text: str | bytes) -> Callable[[Path], None]:
    def write(store: Path) -> None:
        data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
        (store / "manifest.json").write_bytes(data)

    return write


TEXTS: dict[str, Callable[[Path], None]] = {
    "nested": _raw('{"a":' * 100_000),
    "5,000 digits": _raw(f'{{"format_version": {"9" * 5000}}}'),
    "a key twice": _raw('{"format_version": 2, "format_version": 2}'),
    "half a character": _raw('{"format_version": "\\ud800"}'),
    "a number that is none": _raw('{"format_version": NaN}'),
    "empty": _raw(""),
    "cut off": _raw('{"format_version": 2, "ta'),
    "no text": _raw(b"\xff\xfe"),
    "500 MB of zeros": lambda store: __import__("os").truncate(store / "manifest.json", 500_000_000),
}


def _put_index(name: str, values: list[Any]) -> Callable[[Path], None]:
    return lambda store: forge_index(store, lambda table: with_column(table, name, values))


def _swap_ids(table: pa.Table) -> pa.Table:
    return with_column(table, "id", [table["id"][1].as_py(), table["id"][1].as_py()])


INDEXES: dict[str, Callable[[Path], None]] = {
    "a label outside the task": _put_index("label", [[7.0]]),
    "a label below zero": _put_index("label", [[-1.0]]),
    "a label that is a fraction": _put_index("label", [[0.5]]),
    "a label that is no number": _put_index("label", [[float("nan")]]),
    "a label without end": _put_index("label", [[float("inf")]]),
    "two labels": _put_index("label", [[0.0, 1.0]]),
    "null in seen": _put_index("seen", [None]),
    "null in tokens": _put_index("tokens", [None]),
    "null in a role": _put_index("role", [None]),
    "null in an id": _put_index("id", [None]),
    "null in a block": _put_index("block", [None]),
    "null among labels": _put_index("label", [None]),
    "null among token ids": _put_index("token_ids", [None]),
    "a role of another split": _put_index("role", ["train"]),
    "tokens below zero": _put_index("tokens", [-1, 3]),
    "an offset elsewhere": _put_index("offset", [5]),
    "a block elsewhere": _put_index("block", [99]),
    "a token id below zero": _put_index("token_ids", [[-1]]),
    "a length that is not its own": _put_index("length", [99]),
    "an id twice": lambda store: forge_index(store, _swap_ids),
    "a row less": lambda store: forge_index(store, lambda table: table.slice(1)),
    "no rows": lambda store: forge_index(store, lambda table: table.slice(0, 0)),
    "a column less": lambda store: forge_index(store, lambda table: table.drop_columns(["seen"])),
}


def _verify(room: Room, forge: Callable[[Path], object]) -> list[str]:
    store = room.store(room.classes)
    forge(store)
    return ["store", "verify", str(store)]


def _piped(room: Room, name: str) -> list[str]:
    store = room.store(room.classes)
    room.replace_by_pipe(next(store.glob(name)))
    return ["store", "info", str(store)]


def _linked(room: Room) -> list[str]:
    store = room.store(room.classes)
    block = next(store.glob("train/blocks/*"))
    block.unlink()
    block.symlink_to(block)
    return ["store", "info", str(store)]


def _overlong(room: Room) -> list[str]:
    """Values that are not finite, and digests that agree."""
    store = room.store(room.classes)
    path = store / "statistics.safetensors"
    from safetensors.numpy import load, save

    tensors = {name: np.full_like(each, np.nan) for name, each in load(path.read_bytes()).items()}
    from safetensors import safe_open

    with safe_open(path, "np") as file:
        metadata = file.metadata()
    path.write_bytes(save(tensors, metadata=metadata))
    from bv_search.files import digest_file

    entry = {"size": path.stat().st_size, "digest": digest_file(path)}
    forge_manifest(store, lambda manifest: manifest["statistics"].update(entry))
    return ["store", "verify", str(store)]


def _cases() -> Iterator[Case]:
    for name, change in MANIFESTS.items():
        yield Case(name=name, make=given(_verify, forging(forge_manifest, change)))
    for name, forge in TEXTS.items():
        yield Case(name=f"manifest: {name}", make=given(_verify, forge))
    for name, forge in INDEXES.items():
        yield Case(name=f"index: {name}", make=given(_verify, forge))
    for name in ("manifest.json", "train/index.parquet", "train/blocks/*", "dev/index.parquet"):
        yield Case(name=f"a pipe for {name}", make=given(_piped, name))
    yield Case(name="a block that is a link to itself", make=_linked)
    yield Case(name="statistics that are no numbers", make=_overlong)
    yield Case(name="a pipe", make=lambda room: ["store", "verify", room.pipe("store")])
    yield Case(name="nowhere", make=lambda room: ["store", "verify", "nowhere"])
    yield Case(name="an address of nothing", make=lambda room: ["store", "verify", "gopher://a/b"])
    yield Case(name="an address with a zero byte", make=lambda room: ["store", "verify", "a\0b"])


STORES = tuple(_cases())
