"""One name, one meaning: a class that another module of the package names as well is found by nobody.

So are tests that are named otherwise than what they test: `bv_search/a/b.py` is tested by
`tests/a/test_b.py`, and `__main__.py` by `test_main.py`.
"""

import ast
from collections import defaultdict
from pathlib import Path

import bv_search

PACKAGE = Path(bv_search.__file__).parent
TESTS = Path(__file__).parent

WHOLE = frozenset({"cluster", "contracts", "docs", "hostile"})
"""Folders whose tests are of many packages at once."""

TROUBLE = frozenset({"elastic", "full_disk", "interrupt", "kill", "s3", "worker_death"})
"""What happens to processes, machines and disks while a verb is at work, in the folder of the verb."""

SUITES = frozenset(
    {
        "bare_machine",
        "dependencies",
        "names",
        "extract/none",  # a store that keeps nothing, from extraction to repair
        "finetune/riding",  # heads beside an encoder that is fine-tuned
        "report/browser",  # pages, by a browser
        "report/kinds",  # from a search to answers, for every kind of task
        "scan/copies",
        "scan/final_of_copies",
        "scan/memory",
        "space/shipped_spaces",
        "tasks/real_data",
        "tune/loss",  # processes that a search stands on die
        "tune/source",  # searches that the encoder feeds
    }
)
"""Behaviour that no one module has."""


def test_class_names_are_unique() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(str(path.relative_to(PACKAGE)))
    assert len(places) > 300, "the package is read"
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


def test_files_of_tests_are_named_after_what_they_test() -> None:
    modules = {
        (path.parent / path.stem.strip("_")).relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py")
    }
    tested = {
        (path.parent / path.stem.removeprefix("test_")).relative_to(TESTS): path
        for path in sorted(TESTS.rglob("test_*.py"))
    }
    assert len(tested) > 200, "the tests are found"
    assert [
        str(path.relative_to(TESTS))
        for name, path in tested.items()
        if name.as_posix() not in modules | SUITES and name.name not in TROUBLE and name.parts[0] not in WHOLE
    ] == []
