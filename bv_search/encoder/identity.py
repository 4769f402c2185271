"""Which encoder this is: the name it came by, and a digest of its weights, which cannot be mistaken."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bv_search.encoder.source import Source
from bv_search.errors import EncoderError
from bv_search.files import digest_file, digest_json, read_json

WEIGHTS = "model.safetensors"
WEIGHTS_INDEX = "model.safetensors.index.json"


@dataclass(frozen=True, kw_only=True)
class EncoderIdentity:
    """Two encoders are the same when their digests are; id and revision say where to get one again."""

    id: str
    revision: str | None
    digest: str

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any], *, where: object) -> "EncoderIdentity":
        if set(value) != {"id", "revision", "digest"}:
            raise EncoderError(
                "names no encoder", where=where, expected="id, revision, digest", found=sorted(value)
            )
        return cls(id=value["id"], revision=value["revision"], digest=value["digest"])


def identify(source: Source) -> EncoderIdentity:
    return EncoderIdentity(id=source.id, revision=source.revision, digest=digest_weights(source.folder))


def digest_weights(folder: Path) -> str:
    """One digest over all the weights of a checkpoint, in one file or in shards."""
    files = weights_files(folder)
    if len(files) == 1:
        return digest_file(files[0])
    return digest_json({file.name: digest_file(file) for file in files})


def weights_files(folder: Path) -> list[Path]:
    if (folder / WEIGHTS).is_file():
        return [folder / WEIGHTS]
    if (folder / WEIGHTS_INDEX).is_file():
        return _shards(folder)
    pickled = sorted(folder.glob("pytorch_model*.bin"))
    raise EncoderError(
        "has no weights",
        where=folder,
        expected=WEIGHTS,
        found=f"{pickled[0].name}, a pickle, which is never opened" if pickled else None,
        do="save it again with transformers' save_pretrained" if pickled else "give a folder that has them",
    )


def _shards(folder: Path) -> list[Path]:
    index = read_json(folder / WEIGHTS_INDEX, EncoderError)
    names = sorted(set(index.get("weight_map", {}).values()))
    absent = [name for name in names if not (folder / name).is_file()]
    if absent or not names:
        raise EncoderError(
            "weights are incomplete", where=folder, expected=", ".join(names), found=f"no {', '.join(absent)}"
        )
    return [folder / name for name in names]
