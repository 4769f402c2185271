"""What is imported is declared, and nothing else is."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import bv_search

PACKAGE = Path(bv_search.__file__).parent


def imported() -> Iterator[str]:
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Import():
                    yield from (alias.name.partition(".")[0] for alias in node.names)
                case ast.ImportFrom(module=str(module), level=0):
                    yield module.partition(".")[0]


def declared() -> set[str]:
    project = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = [*project["dependencies"], *project["optional-dependencies"]["bench"]]
    return {canonical(re.split(r"[\[<>=~! ]", each)[0]) for each in named}


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_what_is_imported_is_declared() -> None:
    homes = packages_distributions()
    others = set(imported()) - sys.stdlib_module_names - {"bv_search"}
    missing = {
        name for name in others if not {canonical(each) for each in homes.get(name, [name])} & declared()
    }
    assert missing == set()


def test_what_is_declared_is_imported() -> None:
    homes = packages_distributions()
    used = {canonical(each) for name in set(imported()) for each in homes.get(name, [name])}
    assert declared() - used == set()
