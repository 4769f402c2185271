"""Where search spaces are found: by the name of a shipped one, or by the path of a YAML file."""

from pathlib import Path

import bv_search
from bv_search.document import Unreadable, load_yaml, read_plain
from bv_search.errors import SpaceError, UnknownName
from bv_search.tune.space import Space, parse_space

PACKAGE = Path(bv_search.__file__).parent
FOLDERS = (PACKAGE.parent / "search_spaces", PACKAGE / "search_spaces")  # a checkout; an installed wheel


def find_space(name: str) -> Space:
    path = Path(name)
    if path.suffix not in (".yaml", ".yml"):
        path = shipped_spaces().get(name, path)
    if path.suffix not in (".yaml", ".yml"):
        raise UnknownName("space", name, shipped_spaces(), do="or name a .yaml file")
    return _read_space(path)


def shipped_spaces() -> dict[str, Path]:
    folder = next((folder for folder in FOLDERS if folder.is_dir()), FOLDERS[0])
    return {path.stem: path for path in sorted(folder.glob("*.yaml"))}


def _read_space(path: Path) -> Space:
    try:
        source = load_yaml(read_plain(path, SpaceError))
    except Unreadable as error:
        raise SpaceError("cannot be read", where=path, expected="YAML", found=error.found) from error
    if not isinstance(source, dict):
        raise SpaceError("is not a search space", where=path, expected="a mapping with the key space")
    return parse_space(source, path.stem)
