"""Which encoder this is: the name it came by, and a digest of its weights, which cannot be mistaken."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bv_search.document import Text, check_plain
from bv_search.encoder.location import EncoderLocation
from bv_search.errors import EncoderError
from bv_search.files import confine, decode_at, digest_file, digest_json, read_json

WEIGHTS = "model.safetensors"
WEIGHTS_INDEX = "model.safetensors.index.json"


@dataclass(frozen=True, kw_only=True)
class EncoderIdentity:
    """Two encoders are the same when their digests are; id and revision say where to get one again."""

    id: Text
    revision: str | None
    digest: Text

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class _Index:
    """Which file of a checkpoint in shards holds which tensor."""

    weight_map: Mapping[str, Text]


def identify(location: EncoderLocation) -> EncoderIdentity:
    return EncoderIdentity(id=location.id, revision=location.revision, digest=digest_weights(location.folder))


def digest_weights(folder: Path) -> str:
    """One digest over all the weights of a checkpoint, in one file or in shards."""
    files = weights_files(folder)
    if len(files) == 1:
        return digest_file(files[0])
    return digest_json({file.name: digest_file(file) for file in files})


def weights_files(folder: Path) -> list[Path]:
    if (folder / WEIGHTS).exists():
        check_plain(folder / WEIGHTS, EncoderError)
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
    where = folder / WEIGHTS_INDEX
    index = decode_at(_Index, read_json(where, EncoderError), EncoderError, where=where, more=True)
    names = sorted(set(index.weight_map.values()))
    files = [confine(folder, name, EncoderError) for name in names]
    absent = [file.name for file in files if not file.is_file()]
    if absent or not names:
        raise EncoderError(
            "weights are incomplete", where=folder, expected=", ".join(names), found=f"no {', '.join(absent)}"
        )
    return files
