"""Where an encoder comes from: a folder on disk, or a name on the Hugging Face Hub."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from huggingface_hub import HfApi, snapshot_download
from huggingface_hub.errors import HfHubHTTPError, RepositoryNotFoundError, RevisionNotFoundError
from huggingface_hub.utils.tqdm import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars

from bv_search.document import check_plain
from bv_search.errors import EncoderError
from bv_search.files import home_path

HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")
HUB_FILES = ["*.json", "*.txt", "*.model", "model*.safetensors"]
HUB_TIMEOUT_SECONDS = 5.0
GIVE_A_FOLDER = (
    "give the path of a local folder with config.json, model.safetensors and tokenizer.json instead of a name"
)


@dataclass(frozen=True, kw_only=True)
class EncoderLocation:
    """A folder that `from_pretrained` reads, with the name that the user knows it by."""

    id: str
    revision: str | None
    folder: Path


def locate_encoder(name: str | Path) -> EncoderLocation:
    """The folder of an encoder, fetched from the Hub when `name` (or `name@revision`) is one of its names."""
    path = home_path(name)
    if path.is_dir():
        return _local(str(name), path)
    if path.exists():
        raise EncoderError(
            "is a file", where=name, expected="a folder with config.json and model.safetensors"
        )
    hub_name, _, revision = str(name).partition("@")
    if isinstance(name, Path) or not HUB_NAME.fullmatch(hub_name):
        raise EncoderError("no such encoder folder", where=name, expected="a stage, or a transformers folder")
    return _from_hub(hub_name, revision or None)


def _local(name: str, folder: Path) -> EncoderLocation:
    for file in sorted(folder.iterdir()):
        if not file.is_dir():
            check_plain(file, EncoderError)
    if not (folder / "config.json").is_file():
        raise EncoderError(
            "is not an encoder",
            where=name,
            expected="config.json, as save_pretrained writes it",
            found=_contents(folder),
        )
    return EncoderLocation(id=name, revision=None, folder=folder)


def _contents(folder: Path) -> str:
    names = sorted(child.name for child in folder.iterdir())
    shown = ", ".join(names[:4]) + (", …" if len(names) > 4 else "")
    return shown or "an empty folder"


def _from_hub(name: str, revision: str | None) -> EncoderLocation:
    shown = not are_progress_bars_disabled()
    disable_progress_bars()
    try:
        folder = Path(_fetch(name, revision))
    finally:
        if shown:
            enable_progress_bars()
    return EncoderLocation(id=name, revision=folder.name, folder=folder)


def _fetch(name: str, revision: str | None) -> str:
    """Ask the Hub once, with a short time limit, before anything that would retry for minutes."""
    try:
        HfApi().model_info(name, revision=revision, timeout=HUB_TIMEOUT_SECONDS)
        return snapshot_download(name, revision=revision, allow_patterns=HUB_FILES)
    except RevisionNotFoundError as error:
        raise EncoderError("has no such revision on the Hub", where=name, found=revision) from error
    except RepositoryNotFoundError as error:
        raise EncoderError("no such folder here, no such model on the Hub", where=name) from error
    except Exception as error:  # each version of the Hub's client has its own exceptions for "no network"
        cached = _cached(name, revision)
        if cached is not None:
            return cached
        raise _unreachable(name, error) from error


def _cached(name: str, revision: str | None) -> str | None:
    try:
        return snapshot_download(name, revision=revision, allow_patterns=HUB_FILES, local_files_only=True)
    except Exception:  # whatever is wrong with the cache, the encoder is not in it
        return None


def _unreachable(name: str, error: Exception) -> EncoderError:
    offline = any(
        os.environ.get(key, "").upper() in {"1", "ON", "YES", "TRUE"}
        for key in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
    )
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    if isinstance(error, HfHubHTTPError):
        return EncoderError(
            "cannot be fetched from the Hub", where=name, found=reason, do=f"log in, or {GIVE_A_FOLDER}"
        )
    return EncoderError(
        "is not a local folder, and the Hub cannot be reached",
        where=name,
        found="HF_HUB_OFFLINE is set" if offline else reason,
        do=GIVE_A_FOLDER,
    )
