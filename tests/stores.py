"""Small stores with something in them to learn, made without an encoder.

L layers, S tokens of a window, H width.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from bv_search.store.layout import BlockLimits
from bv_search.store.manifest import Baseline, EncoderEntry
from bv_search.store.store import Store
from bv_search.store.writer import SplitArrays, write_store
from bv_search.tasks.registry import find_task
from bv_search.tasks.row import text_key
from bv_search.tasks.window import WINDOW_SCHEMA

LAYERS, WIDTH = 5, 24
SPLITS = {"train": ("train", 200), "select": ("select", 48), "dev": ("report", 64)}


def make_span_store(place: Path, *, windows: int = 200, seed: int = 0, **settings: Any) -> Store:
    """squad2-span: the start and the end of an answer point in directions of their own, in one layer."""
    rng = np.random.default_rng(seed)
    marks_2H = rng.normal(size=(2, WIDTH)) * 1.5
    splits = {}
    for name, (role, count) in (SPLITS | {"train": ("train", windows)}).items():
        lengths = rng.integers(8, 40, size=count)
        spans = [_span(rng, int(length)) for length in lengths]
        hidden = [rng.normal(size=(LAYERS, n, WIDTH)).astype(np.float32) for n in lengths]
        for states_LSH, (start, end) in zip(hidden, spans, strict=True):
            states_LSH[2, start] += marks_2H[0]
            states_LSH[2, end] += marks_2H[1]
        index = _index(name, lengths, [list(map(float, span)) for span in spans], spans)
        splits[name] = SplitArrays(role=role, index=index, hidden=hidden)
    return _write(place, splits, "squad2-span", seed, **settings)


def make_class_store(
    place: Path,
    *,
    windows: int = 200,
    seed: int = 0,
    tokens: int = 1,
    seen: Mapping[str, int] | None = None,
    more: Mapping[str, tuple[str, int]] | None = None,
    **settings: Any,
) -> Store:
    """mrpc: the class is the sign of one direction in one layer of the first token.

    `seen` is on how many windows of a split the encoder was trained, `more` are splits beside the usual ones.
    """
    rng = np.random.default_rng(seed)
    mark_H = rng.normal(size=WIDTH)
    splits = {}
    for name, (role, count) in (SPLITS | {"train": ("train", windows)} | dict(more or {})).items():
        labels = rng.integers(0, 2, size=count)
        lengths = np.ones(count, int) if tokens == 1 else rng.integers(2, tokens, size=count)
        hidden = [rng.normal(size=(LAYERS, n, WIDTH)).astype(np.float32) for n in lengths]
        for states_LSH, label in zip(hidden, labels, strict=True):
            states_LSH[1, 0] += mark_H * (1.0 if label else -1.0)
        index = _index(name, lengths, [[float(label)] for label in labels], None)
        known = [number < (seen or {}).get(name, 0) for number in range(count)]
        splits[name] = SplitArrays(role=role, index=index, hidden=hidden, seen=known)
    return _write(place, splits, "mrpc", seed, tokens="first" if tokens == 1 else "all", **settings)


def make_value_store(place: Path, *, windows: int = 200, seed: int = 0) -> Store:
    """stsb: the value is how far a window's one token lies along a direction in one layer."""
    rng = np.random.default_rng(seed)
    mark_H = rng.normal(size=WIDTH)
    splits = {}
    for name, (role, count) in (SPLITS | {"train": ("train", windows)}).items():
        values = rng.uniform(0.0, 5.0, size=count)
        hidden = [rng.normal(size=(LAYERS, 1, WIDTH)).astype(np.float32) for _ in range(count)]
        for states_LSH, value in zip(hidden, values, strict=True):
            states_LSH[3, 0] += mark_H * (value - 2.0)
        index = _index(name, np.ones(count, int), [[float(value)] for value in values], None)
        splits[name] = SplitArrays(role=role, index=index, hidden=hidden)
    return _write(place, splits, "stsb", seed, tokens="first")


def _guesses(rng: np.random.Generator, split: SplitArrays, task: str) -> list[np.ndarray]:
    kind, outputs = find_task(task).kind, find_task(task).outputs
    sizes = [(len(h[0]), outputs) if kind == "span" else (outputs,) for h in split.hidden]
    return [rng.normal(size=size).astype(np.float32) for size in sizes]


def _span(rng: np.random.Generator, length: int) -> tuple[int, int]:
    """A quarter have no answer, which is position 0; the others stand in the passage, after the question."""
    if rng.random() < 0.25:
        return 0, 0
    start = int(rng.integers(4, length - 1))
    return start, min(length - 2, start + int(rng.integers(0, 3)))


def _write(place: Path, splits: dict[str, SplitArrays], task: str, seed: int, **settings: Any) -> Store:
    """With an encoder that guesses."""
    baseline = Baseline(select={"f1": 0.1}, report={"f1": 0.1}, select_score=0.1, report_score=0.1)
    rng = np.random.default_rng(seed)
    return write_store(
        place,
        {name: replace(split, logits=_guesses(rng, split, task)) for name, split in splits.items()},
        task=find_task(task).to_json(),
        encoder=EncoderEntry(id="random", revision=None, digest="xxh3:0", parameters=100_000),
        baseline=baseline,
        seed=seed,
        **{"limits": BlockLimits(bytes=LAYERS * WIDTH * 2 * 20 * 48), **settings},
    )


def _index(
    split: str, lengths: np.ndarray, labels: list[list[float]], spans: list[tuple[int, int]] | None
) -> pa.Table:
    rows = [_row(f"{split}-{n}", int(length)) for n, length in enumerate(lengths)]
    for number, row in enumerate(rows):
        row["label"] = labels[number]
        if spans is not None:
            row.update(_passage(int(lengths[number]), spans[number]))
    return pa.Table.from_pylist(rows, schema=WINDOW_SCHEMA)


def _row(name: str, length: int) -> dict[str, Any]:
    return {
        "id": f"{name}#0",
        "row": name,
        "key": text_key(name),
        "group": text_key(name),
        "text": text_key(name),
        "token_ids": [1] * length,
        "type_ids": [0] * length,
        "length": length,
        "starts": None,
        "ends": None,
        "passage": None,
        "golds": None,
    }


def _passage(length: int, span: tuple[int, int]) -> dict[str, Any]:
    """Words w0 w1 … of one token each; the first three tokens are [CLS], a question and [SEP]."""
    words = [f"w{n}" for n in range(length - 4)]
    starts, at = [-1] * length, 0
    ends = [-1] * length
    for position, word in enumerate(words, start=3):
        starts[position], ends[position] = at, at + len(word)
        at += len(word) + 1
    passage = " ".join(words)
    golds = [] if span == (0, 0) else [passage[starts[span[0]] : ends[span[1]]]]
    return {"starts": starts, "ends": ends, "passage": passage, "golds": golds}
