"""Layouts: where a task's rows stand in files and on the Hub."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class ColumnNames:
    """The names of the columns that hold a row."""

    text_a: str
    target: str  # the label, the value or the answers
    text_b: str | None = None
    group: str | None = None  # by default the first text
    id: str | None = None  # by default the file's name and the number of the row

    @property
    def texts(self) -> tuple[str, ...]:
        return (self.text_a,) if self.text_b is None else (self.text_a, self.text_b)

    @property
    def all(self) -> tuple[str, ...]:
        """What a file to learn from must have: rows of a group that is misspelt would not stay together."""
        return (*self.texts, self.target, *(name for name in (self.group, self.id) if name is not None))


SQUAD_COLUMNS = ColumnNames(text_a="question", text_b="context", target="answers", group="context", id="id")


@dataclass(frozen=True, kw_only=True)
class Layout:
    """How to find rows: the Hub's id and configuration, the names of columns, the evaluation splits."""

    columns: tuple[ColumnNames, ...]  # the alternatives: official files, then the Hub's names
    hub: str | None = None
    config: str | None = None
    header: tuple[str, ...] = ()  # the columns of an official file that has no header line
    report: tuple[str, ...] = ("dev",)  # the evaluation splits
    answers: bool = False  # the target is a list of answers, as in SQuAD
    torn_rows: bool = False  # the official file itself has short rows, which everybody skips

    @property
    def is_glue(self) -> bool:
        """Of files that GLUE publishes: they are taken as they are."""
        return self.config is not None

    def columns_in(self, names: tuple[str, ...]) -> ColumnNames | None:
        """The alternative whose texts are all among `names`; better with its target than without."""
        having = [each for each in self.columns if set(each.texts) <= set(names)]
        return next((each for each in having if each.target in names), having[0] if having else None)


def layout_to_json(layout: Layout) -> dict[str, Any]:
    value = {**layout.__dict__, "columns": [dict(columns.__dict__) for columns in layout.columns]}
    return {name: list(item) if isinstance(item, tuple) else item for name, item in value.items()}
