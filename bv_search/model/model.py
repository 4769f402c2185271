"""A model: heads on an encoder, or several of them and the encoder combined; a folder on disk.

model.json                      the task, the encoder by place and digest, the method, the members
config.json model.safetensors   a head that is the only one, with its copies, as `save_heads` writes it
heads/0/ heads/1/ …             or each of several
encoder/                        the encoder itself, where it was bundled; model.json has a digest of each file
"""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Annotated, Any, Literal

from bv_search.command import AUTO
from bv_search.document import Range, Text
from bv_search.encoder.encoder import Encoder
from bv_search.errors import HeadError, OutputError
from bv_search.files import (
    RESTORE,
    check_digest,
    check_signed,
    confine,
    decode_at,
    digest_bytes,
    digest_file,
    folder_being_made,
    read_json,
    write_signed,
)
from bv_search.heads.copies import Copies, count_all, load_heads, save_heads, weights_bytes
from bv_search.heads.folder import CONFIG_FILE
from bv_search.heads.head import Head
from bv_search.model.combine import Method
from bv_search.run.ensemble_file import Weight
from bv_search.source.channels import Channels
from bv_search.source.reference import EncoderReference
from bv_search.tasks.registry import task_from_json
from bv_search.tasks.task import Task

MODEL_FILE, HEADS, ENCODER = "model.json", "heads", "encoder"
FORMAT_VERSION = 3
HERE = "."  # the place of a head that is the only one
WEIGHTS_SUFFIX = ".safetensors"
NAME_ENCODER = "say where it is with --encoder"
ENCODER_NAME = "encoder"  # the member that is the encoder's own predictions


@dataclass(frozen=True, kw_only=True, eq=False)
class Member:
    name: str
    heads: Copies  # of one head, which answer by their mean; none: the encoder's own predictions
    weight: float = 1.0

    @property
    def digest(self) -> str | None:
        """Of its weights; the encoder's own predictions have none here."""
        return digest_bytes(weights_bytes(self.heads)) if self.heads else None


@dataclass(frozen=True, kw_only=True, eq=False)
class Model:
    """Everything that turns rows into answers but the encoder's weights, which it names or brings along."""

    task: Task
    encoder: EncoderReference
    channels: Channels
    method: Method
    members: tuple[Member, ...]
    store: str | None = None  # where the hidden states were that its heads learned on

    @property
    def heads(self) -> list[Head]:
        """Of all members, each with its copies."""
        return [head for member in self.members for head in member.heads]

    @property
    def asks_encoder(self) -> bool:
        """Whether one of the members is the encoder itself."""
        return any(not member.heads for member in self.members)

    @property
    def name(self) -> str:
        if len(self.members) == 1:
            return self.members[0].name
        return "ensemble"

    @property
    def parameters(self) -> int:
        """Of the heads; the encoder's are not counted."""
        return count_all(self.heads)

    def is_same(self, other: "Model") -> bool:
        """By the weights too: a run that was made anew has trials of the same names."""
        ours, theirs = (
            [(member.name, member.weight, member.digest) for member in model.members]
            for model in (self, other)
        )
        return (self.method, self.encoder.digest, ours) == (other.method, other.encoder.digest, theirs)

    def load_encoder(self, place: str | Path | None = None, *, device: str = AUTO) -> Encoder:
        encoder = self.encoder.load(place, device=device, do=NAME_ENCODER)
        self.channels.check(encoder)
        return encoder

    @cached_property
    def own_encoder(self) -> Encoder:
        """From where it was, loaded once."""
        return self.load_encoder()

    def predict(
        self, texts: Sequence[str | tuple[str, str]], *, encoder: Encoder | None = None
    ) -> list[dict[str, Any]]:
        """What it says of each text, or pair of texts: {"id", "prediction", …}; of spans a question and its
        passage. The encoder is loaded once, from its own place where none is given."""
        from bv_search.model.answer import answer_rows, rows_of_texts

        return answer_rows(self, encoder or self.own_encoder, rows_of_texts(self.task, texts)).rows

    def save_pretrained(self, folder: str | Path, *, bundle: bool = False) -> Path:
        """Write the model, whole or not at all. With `bundle` the encoder goes with it."""
        folder = Path(folder)
        check_new(folder)
        with folder_being_made(folder) as part:
            self.write_into(part, encoder=self.encoder.find() if bundle else None)
        return folder

    def write_into(self, folder: Path, *, encoder: Path | None = None) -> None:
        """Its files, beside whatever else is to stand there. An encoder's folder is bundled."""
        value = self.to_json()
        for member, said in zip(self.members, value["members"], strict=True):
            if member.heads:
                place = folder / said["head"]
                save_heads(member.heads, place)
                said["config"] = digest_file(place / CONFIG_FILE)
        if encoder is not None:
            shutil.copytree(encoder, folder / ENCODER)
            value["encoder"]["place"] = ENCODER
        write_signed(folder / MODEL_FILE, {**value, "bundled": _bundled(folder / ENCODER)})

    def to_json(self) -> dict[str, Any]:
        numbers = count()
        alone = len(self.members) == 1
        return {
            "format_version": FORMAT_VERSION,
            "task": self.task.to_json(),
            "encoder": self.encoder.to_json(),
            "channels": self.channels.to_json(),
            "store": self.store,
            "method": str(self.method),
            "members": [
                {
                    "name": member.name,
                    "weight": member.weight,
                    "head": (HERE if alone else f"{HEADS}/{next(numbers)}") if member.heads else None,
                }
                for member in self.members
            ],
        }

    @classmethod
    def from_pretrained(cls, folder: str | Path) -> "Model":
        folder = Path(folder)
        value = read_json(folder / MODEL_FILE, HeadError)
        if value.get("format_version") != FORMAT_VERSION:
            raise HeadError(
                "is of another version",
                where=folder / MODEL_FILE,
                expected=FORMAT_VERSION,
                found=value.get("format_version"),
                do="save it anew, or read it with the version of bv_search that wrote it",
            )
        value = check_signed(value, where=folder / MODEL_FILE, error=HeadError)
        where = folder / MODEL_FILE
        said = decode_at(_ModelAnswers, value, HeadError, where=where, what="is damaged")
        model = cls(
            task=task_from_json(said.task, where),
            encoder=EncoderReference.from_json(said.encoder, where=where),
            channels=Channels.from_json(said.channels, where=where),
            store=said.store,
            method=Method(said.method),
            members=tuple(_member(folder, each) for each in said.members),
        )
        if not said.bundled:
            return model
        _check_bundle(folder / ENCODER, said.bundled)
        return replace(model, encoder=replace(model.encoder, place=str(folder / ENCODER)))


@dataclass(frozen=True, kw_only=True)
class _Entry:
    name: Text
    weight: Weight
    head: Text | None
    config: Text | None = None  # the digest of that head's config


@dataclass(frozen=True, kw_only=True)
class _ModelAnswers:
    """A model.json."""

    format_version: int
    task: Mapping[str, Any]
    encoder: Mapping[str, Any]
    channels: Mapping[str, Any]
    store: Text | None
    method: Literal["single", "max", "mean", "greedy"]
    members: Annotated[tuple[_Entry, ...], Range("a member or more", lambda value: len(value) > 0)]
    bundled: Mapping[str, Text]  # the encoder's files and their digests; none where it stands elsewhere


def is_model(folder: Path) -> bool:
    return (folder / MODEL_FILE).is_file()


def check_new(folder: Path) -> None:
    """Refuse a place that is taken."""
    if folder.exists():
        raise OutputError("already exists", where=folder, do="choose another place, or delete it")


def _bundled(encoder: Path) -> dict[str, str]:
    files = sorted(path for path in encoder.rglob("*") if path.is_file())
    return {path.relative_to(encoder).as_posix(): digest_file(path) for path in files}


def _check_bundle(encoder: Path, files: Mapping[str, str]) -> None:
    """But the weights, which are looked at when they are loaded."""
    for name, expected in files.items():
        path = confine(encoder, name, HeadError)
        if not path.is_file():
            raise HeadError("is missing", where=path, expected="a file of the bundled encoder", do=RESTORE)
        if path.suffix != WEIGHTS_SUFFIX and (found := digest_file(path)) != expected:
            raise HeadError("is damaged", where=path, expected=f"digest {expected}", found=found, do=RESTORE)


def _member(folder: Path, said: _Entry) -> Member:
    if said.head is None:
        return Member(name=said.name, weight=said.weight, heads=())
    place = folder if said.head == HERE else confine(folder, said.head, HeadError)
    heads = load_heads(place)
    config = place / CONFIG_FILE
    check_digest(config.read_bytes(), str(said.config), where=config, error=HeadError)
    return Member(name=said.name, weight=said.weight, heads=heads)
