"""What decides the bytes of a store: equal settings give equal stores. Found out before any work."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Any

import torch

from bv_search.command import AUTO
from bv_search.document import Count, Mismatch, decode, one_of
from bv_search.encoder.checkpoint import load_encoder
from bv_search.encoder.encoder import Encoder
from bv_search.encoder.stage import read_seen
from bv_search.errors import UserError
from bv_search.extract.config import ExtractConfig
from bv_search.files import digest_bytes
from bv_search.precision import PRECISIONS, choose_precision
from bv_search.source.channels import Channels
from bv_search.store.layout import ALL, FIRST, POOLER, channel_name
from bv_search.store.manifest import EncoderEntry, Manifest
from bv_search.tasks.task import Task

UNSEEN = ("encoder.stage", "encoder.id", "encoder.revision")
"""Where an encoder was found, which may move; its digest says which one it is."""


@dataclass(frozen=True, kw_only=True)
class StoreSettings:
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
        **{
            name: body[name] for name in StoreSettings.__dataclass_fields__ if name not in ("width", "layers")
        },
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


BATCH_TOKENS = {"cpu": 1024, "cuda": 4096}
"""A block holds only so many windows to sort by length: small batches pad less, a GPU needs larger ones."""


@dataclass(frozen=True, kw_only=True)
class Hardware:
    """What a worker computes on."""

    device: str
    precision: str


@dataclass(frozen=True, kw_only=True)
class Begun:
    """What a store that is there was computed with, or half of one: whoever goes on computes so too."""

    precision: Annotated[str, one_of(*PRECISIONS)]
    batch_tokens: Count

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> "Begun | None":
        """None where they say nothing of the kind; what else they say is compared later."""
        try:
            return decode(cls, dict(settings), more=True)
        except Mismatch:
            return None


@dataclass(frozen=True, kw_only=True)
class EncoderFacts:
    """What the settings need to know of an encoder, without the encoder."""

    entry: EncoderEntry
    tokenizer: dict[str, str | int]
    layers: int
    width: int
    has_pooler: bool
    predicts: bool


def survey_hardware() -> Hardware:
    """The device of this process, and the precision that it computes fastest with."""
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    return Hardware(device=device.type, precision=choose_precision(AUTO, device).precision)


def survey_encoder(source: str, task: Task) -> EncoderFacts:
    encoder = load_encoder(source, task=task, device="cpu")
    if encoder.stage is not None:
        read_seen(encoder.folder)  # what cannot be read of it is said before any work
    return EncoderFacts(
        entry=_entry(encoder),
        tokenizer=_tokenizer(encoder, task),
        layers=encoder.layers,
        width=encoder.width,
        has_pooler=encoder.has_pooler,
        predicts=encoder.predicts,
    )


def _entry(encoder: Encoder) -> EncoderEntry:
    stage = encoder.stage
    return EncoderEntry(
        id=encoder.identity.id,
        revision=encoder.identity.revision,
        digest=encoder.identity.digest,
        parameters=encoder.parameters,
        stage=None if stage is None else str(encoder.folder.resolve()),
        fraction=None if stage is None else float(stage.fraction),
    )


def _tokenizer(encoder: Encoder, task: Task) -> dict[str, str | int]:
    tokenizer = encoder.tokenizer
    return {
        "class": type(tokenizer).__name__,
        "digest": digest_bytes(tokenizer.backend_tokenizer.to_str().encode()),
        "max_length": task.max_length,
        "stride": task.stride,
    }


def settle(
    config: ExtractConfig,
    task: Task,
    encoder: EncoderFacts,
    hardware: Hardware,
    data: str,
    begun: Begun | None = None,
) -> StoreSettings:
    """What is asked for, with every default decided: as it was begun, or else by the hardware."""
    tokens = config.tokens or (ALL if task.per_token else FIRST)
    if task.per_token and tokens != ALL:
        raise UserError(f"--tokens {tokens} keeps no positions", where=task.name, expected="--tokens all")
    return StoreSettings(
        task=task.to_json(),
        encoder=encoder.entry,
        tokenizer=dict(encoder.tokenizer),
        tokens=tokens,
        layers=_channels(config, encoder, pooler=tokens == FIRST and encoder.has_pooler),
        width=encoder.width,
        dtype=config.dtype,
        format=config.format,
        seed=config.seed,
        data=data,
        precision=(begun or hardware).precision if config.precision == AUTO else config.precision,
        batch_tokens=config.batch_tokens or (begun and begun.batch_tokens) or BATCH_TOKENS[hardware.device],
    )


def _channels(config: ExtractConfig, encoder: EncoderFacts, *, pooler: bool) -> tuple[str, ...]:
    layers = range(encoder.layers) if config.layers is None else config.layers
    unknown = [layer for layer in layers if layer not in range(encoder.layers)]
    if unknown:
        raise UserError(
            "--layers names layers that the encoder does not have",
            where=encoder.entry.id,
            expected=f"0 (embeddings) to {encoder.layers - 1}",
            found=", ".join(map(str, unknown)),
        )
    return (*(channel_name(layer) for layer in layers), *((POOLER,) if pooler else ()))
