"""What decides the bytes of a store. Two extractions with equal settings give equal stores."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from bv_search.source.channels import Channels
from bv_search.store.manifest import EncoderEntry, Manifest

UNSEEN = ("encoder.stage", "encoder.id", "encoder.revision")
"""Where an encoder was found, which may move; its digest says which one it is."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    task: dict[str, Any]
    encoder: EncoderEntry
    tokenizer: dict[str, Any]
    tokens: str
    layers: tuple[str, ...]
    width: int
    dtype: str
    format: str
    seed: int
    data: str
    precision: str
    batch_tokens: int

    @property
    def channels(self) -> Channels:
        return Channels(
            layers=self.layers,
            tokens=self.tokens,
            dtype=self.dtype,
            width=self.width,
            precision=self.precision,
        )

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "layers": list(self.layers)}


def settings_of(manifest: Manifest) -> dict[str, Any]:
    """The settings of a finished store, in the same form."""
    body = asdict(manifest)
    return {
        **{name: body[name] for name in Settings.__dataclass_fields__ if name not in ("width", "layers")},
        "layers": list(manifest.layers),
        "width": manifest.shape[1],
    }


def differences(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> list[str]:
    """What differs, in words: `dtype: float16 there, bfloat16 here`."""
    here, there = dict(_leaves(ours)), dict(_leaves(theirs))
    return [
        f"{name}: {_brief(there.get(name))} there, {_brief(here.get(name))} here"
        for name in {**there, **here}
        if name not in UNSEEN and here.get(name) != there.get(name)
    ]


def _leaves(value: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    for name, item in value.items():
        if isinstance(item, Mapping):
            yield from _leaves(item, f"{path}{name}.")
        else:
            yield f"{path}{name}", list(item) if isinstance(item, tuple) else item


def _brief(value: Any) -> str:
    text = "nothing" if value is None else str(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
