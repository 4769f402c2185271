"""Where search spaces are found: by the name of a shipped one, or by the path of a YAML file."""

from pathlib import Path

import yaml

import bv_search
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
        source = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise SpaceError("does not exist", where=path) from error
    except OSError as error:
        raise SpaceError(
            "cannot be read", where=path, expected="a YAML file", found=error.strerror
        ) from error
    except (yaml.YAMLError, ValueError) as error:  # bytes that are no text are a ValueError, so is 2020-13-45
        raise SpaceError("cannot be read", where=path, expected="YAML", found=error) from error
    if not isinstance(source, dict):
        raise SpaceError("is not a search space", where=path, expected="a mapping with the key space")
    return parse_space(source, path.stem)
