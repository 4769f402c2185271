"""One name, one meaning: a class that another module of the package names as well is found by nobody."""

import ast
from collections import defaultdict
from pathlib import Path

import bv_search

PACKAGE = Path(bv_search.__file__).parent


def test_class_names_are_unique() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(str(path.relative_to(PACKAGE)))
    assert len(places) > 300, "the package is read"
    assert {name: where for name, where in places.items() if len(where) > 1} == {}
