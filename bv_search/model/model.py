"""A model: heads on an encoder, or several of them and the encoder combined; a folder on disk.

model.json                      the task, the encoder by place and digest, the method, the members
heads/0/ heads/1/ …             each a head with its copies, as `save_heads` writes it
encoder/                        the encoder itself, where it was bundled
"""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bv_search.encoder.encoder import Encoder
from bv_search.errors import HeadError, OutputError
from bv_search.files import confine, folder_being_made, read_json, write_json
from bv_search.heads.copies import Copies, count_all, load_heads, save_heads
from bv_search.heads.head import Head
from bv_search.model.combine import Method
from bv_search.source.channels import Channels
from bv_search.source.reference import EncoderReference
from bv_search.tasks.registry import task_from_json
from bv_search.tasks.task import Task

MODEL_FILE, HEADS, ENCODER = "model.json", "heads", "encoder"
FORMAT_VERSION = 1
NAME_ENCODER = "say where it is with --encoder"
ENCODER_NAME = "encoder"  # the member that is the encoder's own predictions


@dataclass(frozen=True, kw_only=True, eq=False)
class Member:
    name: str
    heads: Copies  # of one head, which answer by their mean; none: the encoder's own predictions
    weight: float = 1.0


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

    def load_encoder(self, place: str | Path | None = None, *, device: str = "auto") -> Encoder:
        encoder = self.encoder.load(place, device=device, do=NAME_ENCODER)
        self.channels.check(encoder)
        return encoder

    def save_pretrained(self, folder: str | Path, *, bundle: bool = False) -> Path:
        """Write the model, whole or not at all. With `bundle` the encoder goes with it."""
        folder = Path(folder)
        if folder.exists():
            raise OutputError("already exists", where=folder, do="choose another place, or delete it")
        with folder_being_made(folder) as part:
            for number, copies in enumerate(member.heads for member in self.members if member.heads):
                save_heads(copies, part / HEADS / str(number))
            if bundle:
                shutil.copytree(self.encoder.find(), part / ENCODER)
            write_json(part / MODEL_FILE, self.to_json())
        return folder

    def to_json(self) -> dict[str, Any]:
        numbers = iter(range(len(self.members)))
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
                    "head": f"{HEADS}/{next(numbers)}" if member.heads else None,
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
            )
        try:
            model = cls(
                task=task_from_json(value["task"]),
                encoder=EncoderReference.from_json(value["encoder"]),
                channels=Channels.from_json(value["channels"]),
                store=value["store"],
                method=Method(value["method"]),
                members=tuple(_member(folder, each) for each in value["members"]),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as cause:
            raise HeadError(
                "is damaged", where=folder / MODEL_FILE, expected="a saved model", found=cause
            ) from cause
        if (folder / ENCODER).is_dir():
            bundled = replace(model.encoder, place=str(folder / ENCODER))
            return replace(model, encoder=bundled)
        return model


def is_model(folder: Path) -> bool:
    return (folder / MODEL_FILE).is_file()


def _member(folder: Path, value: Mapping[str, Any]) -> Member:
    head = value["head"]
    return Member(
        name=value["name"],
        weight=float(value["weight"]),
        heads=() if head is None else load_heads(confine(folder, head, HeadError)),
    )
