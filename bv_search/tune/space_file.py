"""Where search spaces are found: by the name of a shipped one, by the path of a YAML file, or at hand."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bv_search.document import Unreadable, load_yaml, read_plain
from bv_search.errors import SpaceError, UnknownName
from bv_search.tune.space import Space, parse_space

PACKAGE = Path(__file__).resolve().parents[1]
FOLDERS = (PACKAGE.parent / "search_spaces", PACKAGE / "search_spaces")  # a checkout; an installed wheel


OWN = "own"  # what a space is called that has no file


def find_space(name: str | Mapping[str, Any]) -> Space:
    if not isinstance(name, str):
        return parse_space(_plain(name), OWN)
    path = Path(name)
    if path.suffix not in (".yaml", ".yml"):
        path = shipped_spaces().get(name, path)
    if path.suffix not in (".yaml", ".yml"):
        raise UnknownName("space", name, shipped_spaces(), do="or name a .yaml file")
    return _read_space(path)


def shipped_spaces() -> dict[str, Path]:
    folder = next((folder for folder in FOLDERS if folder.is_dir()), FOLDERS[0])
    return {path.stem: path for path in sorted(folder.glob("*.yaml"))}


def _plain(space: Mapping[str, Any]) -> dict[str, Any]:
    """As it would come from a file: a run keeps it as text."""
    try:
        plain: dict[str, Any] = json.loads(json.dumps(space, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise SpaceError(
            "holds what no file could", where=OWN, expected="numbers, texts, lists and dicts", found=error
        ) from error
    return plain


def _read_space(path: Path) -> Space:
    try:
        source = load_yaml(read_plain(path, SpaceError))
    except Unreadable as error:
        raise SpaceError("cannot be read", where=path, expected="YAML", found=error.found) from error
    if not isinstance(source, dict):
        raise SpaceError("is not a search space", where=path, expected="a mapping with the key space")
    return parse_space(source, path.stem)
