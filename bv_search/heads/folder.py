"""A head's folder: `config.json`, which says what else belongs to it, and `model.safetensors`. Free of torch.

The config carries a digest of itself and one of the weights, so that a head may travel alone.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bv_search import files
from bv_search.document import read_plain
from bv_search.errors import HeadError

CONFIG_FILE = "config.json"
WEIGHTS_FILE = "model.safetensors"
WEIGHTS = "weights"  # the key of the weights' digest


def write_head(
    folder: Path, config: Mapping[str, Any], weights: bytes, disk: files.Disk = files.DISK
) -> None:
    files.write_bytes(folder / WEIGHTS_FILE, weights, disk)
    files.write_signed(folder / CONFIG_FILE, {**config, WEIGHTS: files.digest_bytes(weights)}, disk)


def read_config(folder: Path) -> dict[str, Any]:
    """With the number of copies that the folder holds: one, where it does not say."""
    where = folder / CONFIG_FILE
    value = files.read_json(where, HeadError)
    if "head" not in value:  # an encoder's, say
        raise HeadError("is not a head's config", where=where, expected="a head")
    config: dict[str, Any] = {"copies": 1, **files.check_signed(value, where=where, error=HeadError)}
    copies = config["copies"]
    if type(copies) is not int or copies < 1:
        raise HeadError("is not a head's config", where=where, expected="copies: 1 or more", found=copies)
    return config


def read_weights_file(folder: Path, config: Mapping[str, Any]) -> bytes:
    """What the config says."""
    path = folder / WEIGHTS_FILE
    data = read_plain(path, HeadError)
    files.check_digest(data, config[WEIGHTS], where=path, error=HeadError)
    return data
