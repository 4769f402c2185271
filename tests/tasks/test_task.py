"""What depends on a task's kind is a field or a method of the task: a new kind is a file in tasks/."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import bv_search

PACKAGE = Path(bv_search.__file__).parent
HOMES = ("tasks/", "report/", "study/errors.py")  # a page shows each kind its own way


def asked(tree: ast.AST) -> Iterator[str]:
    """Comparisons with a member of Kind."""
    for node in ast.walk(tree):
        match node:
            case ast.Compare():
                for side in (node.left, *node.comparators):
                    match side:
                        case ast.Attribute(value=ast.Name(id="Kind"), attr=kind):
                            yield kind
            case ast.MatchValue(value=ast.Attribute(value=ast.Name(id="Kind"), attr=kind)):
                yield kind


def test_nobody_but_tasks_asks_what_kind_a_task_is() -> None:
    found = {
        f"{path.relative_to(PACKAGE)}: {kind}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if not str(path.relative_to(PACKAGE)).startswith(HOMES)
        for kind in asked(ast.parse(path.read_text()))
    }
    assert found == set()


@pytest.mark.parametrize(
    "line",
    [
        "task.kind is Kind.SPAN",
        "if x not in {1} and Kind.SPAN == kind: pass",
        "match k:\n case Kind.SPAN: pass",
    ],
)
def test_a_question_for_the_kind_is_found(line: str) -> None:
    assert list(asked(ast.parse(line))) == ["SPAN"]
