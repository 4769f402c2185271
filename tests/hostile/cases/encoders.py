"""Encoders: stages and transformers folders."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from safetensors.numpy import load, save

from bv_search.encoder.identity import digest_weights
from tests.hostile.room import Case, Change, Room, change_json, drop, given, instead, put

STAGES: dict[str, Change] = {
    "an empty object": instead({}),
    "a list": instead([]),
    "an encoder that is a word": put("encoder", value="bert"),
    "an encoder that is null": put("encoder", value=None),
    "an encoder whose id is a number": put("encoder", "id", value=5),
    "an encoder whose digest is null": put("encoder", "digest", value=None),
    "a fraction that is a word": put("fraction", value="half"),
    "a fraction below zero": put("fraction", value=-1.0),
    "a fraction that is no number": put("fraction", value=float("nan")),
    "a fraction that is a list": put("fraction", value=[]),
    "a task that is a word": put("task", value="mrpc"),
    "a task that is null": put("task", value=None),
    "a task of a million million tokens": put("task", "max_length", value=10**12),
    "a seed that is a word": put("seed", value="one"),
    "steps that are a word": put("steps", value="many"),
    "rows below zero": put("rows", value=-3),
    "an interval of one": put("interval", value=[0.5]),
    "an interval that is a number": put("interval", value=5),
    "an interval of words": put("interval", value=["a", "b"]),
    "metrics that are a list": put("metrics", value=[1]),
    "metrics that are words": put("metrics", value={"select": "good"}),
    "weights that are a number": put("weights", value=5),
    "data that is a number": put("data", value=5),
    "seconds that are a word": put("seconds", value="long"),
    "another version": put("format_version", value=5),
    "a version that is true": put("format_version", value=True),
    "a field more": put("colour", value="red"),
    "a field less": drop("task"),
}

CONFIGS: dict[str, Change] = {
    "an empty object": instead({}),
    "a list": instead([]),
    "a type that is none": put("model_type", value="magic"),
    "a type that is a list": put("model_type", value=[]),
    "a million layers": put("num_hidden_layers", value=1_000_000),
    "layers below zero": put("num_hidden_layers", value=-1),
    "layers that are a word": put("num_hidden_layers", value="many"),
    "a width of a billion": put("hidden_size", value=10**9),
    "a width of zero": put("hidden_size", value=0),
    "a width that is a word": put("hidden_size", value="wide"),
    "a width that heads do not divide": put("hidden_size", value=31),
    "no attention heads": put("num_attention_heads", value=0),
    "a vocabulary of a million million": put("vocab_size", value=10**12),
    "a vocabulary below zero": put("vocab_size", value=-1),
    "a vocabulary of three": put("vocab_size", value=3),
    "positions of a million million": put("max_position_embeddings", value=10**12),
    "positions that are a word": put("max_position_embeddings", value="many"),
    "positions of three": put("max_position_embeddings", value=3),
    "an activation that is none": put("hidden_act", value="magic"),
    "a decoder": put("model_type", value="gpt2"),
    "an encoder with a decoder": put("model_type", value="t5"),
}


def _without_tokenizer(stage: Path) -> None:
    for path in stage.iterdir():
        if path.name.startswith(("tokenizer", "vocab", "special", "added")):
            path.unlink()


TOKENIZERS: dict[str, Callable[[Path], object]] = {
    "none at all": _without_tokenizer,
    "a tokenizer that is a list": lambda stage: (stage / "tokenizer.json").write_text("[]"),
    "a tokenizer that is empty": lambda stage: (stage / "tokenizer.json").write_text("{}"),
    "a tokenizer that is no JSON": lambda stage: (stage / "tokenizer.json").write_text("{"),
    "a tokenizer that is nothing": lambda stage: (stage / "tokenizer.json").write_text(""),
    "a tokenizer that is nested": lambda stage: (stage / "tokenizer.json").write_text('{"a":' * 100_000),
    "a tokenizer without words": lambda stage: change_json(
        stage / "tokenizer.json", put("model", "vocab", value={})
    ),
    "a tokenizer with numbers for words": lambda stage: change_json(
        stage / "tokenizer.json", put("model", "vocab", value={"a": "b"})
    ),
    "a tokenizer with far numbers": lambda stage: change_json(
        stage / "tokenizer.json", put("model", "vocab", "the", value=10**9)
    ),
    "its config is a list": lambda stage: (stage / "tokenizer_config.json").write_text("[]"),
    "its config is no JSON": lambda stage: (stage / "tokenizer_config.json").write_text("{"),
    "its class is a number": lambda stage: change_json(
        stage / "tokenizer_config.json", put("tokenizer_class", value=5)
    ),
    "its words are a number": lambda stage: change_json(
        stage / "tokenizer_config.json", put("cls_token", value=5)
    ),
}


def _weights(change: Callable[[dict[str, np.ndarray]], object]) -> Callable[[Path], None]:
    """Other weights, and a stage that knows them."""

    def forge(stage: Path) -> None:
        path = stage / "model.safetensors"
        tensors = load(path.read_bytes())
        change(tensors)
        path.write_bytes(save(tensors, metadata={"format": "pt"}))
        change_json(stage / "stage.json", put("weights", value=digest_weights(stage)))

    return forge


def _spoil(tensors: dict[str, np.ndarray]) -> None:
    name = next(name for name in tensors if "word_embeddings" in name)
    tensors[name] = np.full_like(tensors[name], np.nan)


def _shards(index: object) -> Callable[[Path], None]:
    def forge(stage: Path) -> None:
        (stage / "model.safetensors").unlink()
        (stage / "model.safetensors.index.json").write_text(json.dumps(index))
        (stage / "stage.json").unlink()

    return forge


def _seen(table: pa.Table) -> Callable[[Path], None]:
    return lambda stage: pq.write_table(table, stage / "seen.parquet")


FILES: dict[str, Callable[[Path], object]] = {
    "weights that are no numbers": _weights(_spoil),
    "weights of which some are missing": _weights(lambda each: each.pop(next(iter(each)))),
    "weights that are nothing": _weights(lambda each: each.clear()),
    "weights that were changed": lambda stage: (stage / "model.safetensors").write_bytes(b"x" * 100),
    "shards: an empty object": _shards({}),
    "shards: a list": _shards([]),
    "shards: a map that is a list": _shards({"weight_map": []}),
    "shards: a map that is null": _shards({"weight_map": None}),
    "shards: a file that is a number": _shards({"weight_map": {"a": 5}}),
    "shards: a file that is a list": _shards({"weight_map": {"a": []}}),
    "shards: a file that leads out": _shards({"weight_map": {"a": "../../../etc/passwd"}}),
    "shards: a file at the root": _shards({"weight_map": {"a": "/etc/passwd"}}),
    "shards: a file with a zero byte": _shards({"weight_map": {"a": "a\0b"}}),
    "shards: a file that is nowhere": _shards({"weight_map": {"a": "b.safetensors"}}),
    "seen: another column": _seen(pa.table({"x": [1]})),
    "seen: words": _seen(pa.table({"key": ["a"]})),
    "seen: null": _seen(pa.table({"key": pa.array([None], pa.uint64())})),
    "seen: below zero": _seen(pa.table({"key": pa.array([-1], pa.int64())})),
    "seen: lists": _seen(pa.table({"key": [[1]]})),
    "seen: no table": lambda stage: (stage / "seen.parquet").write_bytes(b"PAR1"),
    "seen: absent": lambda stage: (stage / "seen.parquet").unlink(),
}


def _extract(room: Room, forge: Callable[[Path], object]) -> list[str]:
    stage = room.stage()
    forge(stage)
    words = ["extract", "--task", "squad2-span", "--encoder", str(stage), "--data", str(room.small.data)]
    return [*words, "--out", "out", "--workers", "0"]


def _changed(room: Room, file: str, change: Change) -> list[str]:
    return _extract(room, lambda stage: change_json(stage / file, change))


def _piped(name: str) -> Callable[[Room], list[str]]:
    def make(room: Room) -> list[str]:
        return _extract(room, lambda stage: room.replace_by_pipe(stage / name))

    return make


def _cases() -> Iterator[Case]:
    for name, change in STAGES.items():
        yield Case(name=f"stage: {name}", make=given(_changed, "stage.json", change))
    for name, change in CONFIGS.items():
        yield Case(name=f"config: {name}", make=given(_changed, "config.json", change))
    for name, forge in {**TOKENIZERS, **FILES}.items():
        yield Case(name=name, make=given(_extract, forge))
    for name in ("stage.json", "config.json", "model.safetensors", "tokenizer.json", "seen.parquet"):
        yield Case(name=f"a pipe for {name}", make=_piped(name))


ENCODERS = tuple(_cases())
