"""Heads and saved models, by themselves."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from safetensors.numpy import load, save

from tests.hostile.room import Case, Change, Room, change_json, drop, given, instead, put

CONFIGS: dict[str, Change] = {
    "an empty object": instead({}),
    "a list": instead([]),
    "a head that is a list": put("head", value=[]),
    "a head without a kind": put("head", value={}),
    "a kind that is none": put("head", "kind", value="magic"),
    "a kind that is a list": put("head", "kind", value=[]),
    "a setting that is none": put("head", "x", value=1),
    "a pooling that is a list": put("head", "pooling", value=[]),
    "a readout that is a mapping": put("head", "readout", value={}),
    "a size of a million million": put("head", value={"kind": "adapter", "size": 10**12, "shared": True}),
    "a size that is a word": put("head", value={"kind": "adapter", "size": "large", "shared": True}),
    "a shape that is a list": put("shape", value=[]),
    "a shape of zero": put("shape", "width", value=0),
    "a shape below zero": put("shape", "layers", value=-1),
    "a shape of a billion": put("shape", "outputs", value=10**9),
    "a shape of a million million": put("shape", "width", value=10**12),
    "a shape of a word": put("shape", "width", value="wide"),
    "a shape of a fraction": put("shape", "width", value=1.5),
    "a shape less": drop("shape", "width"),
    "copies of zero": put("copies", value=0),
    "a million million copies": put("copies", value=10**12),
    "ten thousand copies": put("copies", value=10_000),
    "copies that are true": put("copies", value=True),
    "inputs that are none": put("inputs", value="odd"),
    "inputs that are a list": put("inputs", value=[]),
    "no task": drop("task"),
    "a task that is null": put("task", value=None),
    "a task of an unknown kind": put("task", "kind", value="x"),
    "an encoder that is a word": put("encoder", value="bert"),
    "an encoder that is null": put("encoder", value=None),
    "an encoder without a digest": drop("encoder", "digest"),
    "an encoder that is a number": put("encoder", "stage", value=5),
    "an encoder with a zero byte": put("encoder", "stage", value="a\0b"),
    "layers that are a number": put("layers", value=5),
    "layers that are numbers": put("layers", value=[1, 2, 3]),
    "tokens that are none": put("tokens", value="some"),
    "a dtype that is none": put("dtype", value="float8"),
    "a dtype that is a list": put("dtype", value=[]),
    "a store that is a word": put("store", value="here"),
    "a store whose path is a number": put("store", "path", value=5),
}

TEXTS: dict[str, str | bytes] = {
    "nested": '{"head":' * 100_000,
    "5,000 digits": f'{{"copies": {"9" * 5000}}}',
    "a key twice": '{"head": {}, "head": {}}',
    "half a character": '{"head": {"kind": "\\ud800"}}',
    "a number that is none": '{"head": NaN}',
    "no text": b"\xff",
    "nothing": "",
    "cut off": '{"he',
}


def _tensors(change: Callable[[dict[str, np.ndarray]], object]) -> Callable[[Path], None]:
    def write(head: Path) -> None:
        path = head / "model.safetensors"
        tensors = load(path.read_bytes())
        change(tensors)
        path.write_bytes(save(tensors))

    return write


def _raw(data: bytes) -> Callable[[Path], None]:
    def write(head: Path) -> None:
        (head / "model.safetensors").write_bytes(data)

    return write


ODD = json.dumps({"a": {"dtype": "F9", "shape": [1], "data_offsets": [0, 4]}}).encode()

WEIGHTS: dict[str, Callable[[Path], None]] = {
    "no numbers": _tensors(lambda each: each.update(bias_C=np.full_like(each["bias_C"], np.nan))),
    "without end": _tensors(lambda each: each.update(bias_C=np.full_like(each["bias_C"], np.inf))),
    "a tensor less": _tensors(lambda each: each.pop("bias_C")),
    "a tensor more": _tensors(lambda each: each.update(x=np.zeros(1, np.float32))),
    "another shape": _tensors(lambda each: each.update(bias_C=np.zeros(7, np.float32))),
    "another type": _tensors(lambda each: each.update(bias_C=each["bias_C"].astype(np.float64))),
    "empty": _raw(b""),
    "a forged length": _raw(b"\xff" * 8 + b"{}"),
    "a length of gigabytes": _raw((10**10).to_bytes(8, "little") + b"{}"),
    "a header that is no JSON": _raw((4).to_bytes(8, "little") + b"abcd"),
    "a header that is a list": _raw((2).to_bytes(8, "little") + b"[]"),
    "an unknown dtype": _raw(len(ODD).to_bytes(8, "little") + ODD + bytes(4)),
}


def _predict(room: Room, head: Path) -> list[str]:
    return ["predict", str(head), "--store", room.small.store.path, "--out", "out.json"]


def _config(room: Room, change: Change) -> list[str]:
    head = room.head()
    change_json(head / "config.json", change)
    return _predict(room, head)


def _text(room: Room, text: str | bytes) -> list[str]:
    head = room.head()
    room.write("head/config.json", text)
    return _predict(room, head)


def _weights(room: Room, forge: Callable[[Path], None]) -> list[str]:
    head = room.head()
    forge(head)
    return _predict(room, head)


def _piped(name: str) -> Callable[[Room], list[str]]:
    def make(room: Room) -> list[str]:
        head = room.head()
        room.replace_by_pipe(head / name)
        return _predict(room, head)

    return make


MODELS: dict[str, Change] = {
    "an empty object": instead({}),
    "a list": instead([]),
    "members that are a word": put("members", value="all"),
    "no members": put("members", value=[]),
    "a member that is a word": put("members", value=["x"]),
    "a weight that is no number": put("members", 0, "weight", value=float("nan")),
    "a weight that is a word": put("members", 0, "weight", value="much"),
    "a weight below zero": put("members", 0, "weight", value=-1.0),
    "a head elsewhere": put("members", 0, "head", value="../../x"),
    "a head that is a number": put("members", 0, "head", value=5),
    "a method that is none": put("method", value="magic"),
    "a method that is a list": put("method", value=[]),
    "a task that is a list": put("task", value=[]),
    "a store that is a number": put("store", value=5),
    "channels that are a list": put("channels", value=[]),
    "channels of an unknown dtype": put("channels", "dtype", value="float8"),
    "channels of a word for a width": put("channels", "width", value="wide"),
    "an encoder that is a word": put("encoder", value="x"),
    "another version": put("format_version", value=9),
}


def _model(room: Room, change: Change) -> list[str]:
    from bv_search.model.loading import open_model

    place = open_model(str(room.small.run.path), member="best").save_pretrained(room.place / "model")
    change_json(place / "model.json", change)
    return ["predict", str(place), "--store", room.small.store.path, "--out", "out.json"]


def _cases() -> Iterator[Case]:
    for name, change in CONFIGS.items():
        yield Case(name=name, make=given(_config, change))
    for name, text in TEXTS.items():
        yield Case(name=f"config: {name}", make=given(_text, text))
    for name, forge in WEIGHTS.items():
        yield Case(name=f"weights: {name}", make=given(_weights, forge))
    for name in ("config.json", "model.safetensors"):
        yield Case(name=f"a pipe for {name}", make=_piped(name))
    for name, change in MODELS.items():
        yield Case(name=f"model: {name}", make=given(_model, change))


HEADS = tuple(_cases())
