"""A table: for a reader as Markdown and LaTeX, for a program as CSV, in a page as HTML."""

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from bv_search.encoder.stage import epochs
from bv_search.run.leaderboard import LEAST_PERCENT

NOTHING = "–"
LATEX = {"%": r"\%", "&": r"\&", "_": r"\_", "#": r"\#", "$": r"\$", "–": "--", "−": "$-$", "±": r"$\pm$"}

Cell = str | float | int | None


class Form(StrEnum):
    """How a column is written where it is read; CSV has all digits."""

    TEXT = "text"
    SCORE = "score"
    DELTA = "delta"
    COUNT = "count"
    PERCENT = "percent"
    SHARE = "share"
    NUMBER = "number"
    SECONDS = "seconds"
    BYTES = "bytes"


@dataclass(frozen=True, kw_only=True)
class TableColumn:
    name: str
    form: Form = Form.SCORE

    @property
    def is_text(self) -> bool:
        return self.form is Form.TEXT


@dataclass(frozen=True, kw_only=True)
class StudyTable:
    name: str  # of its files
    title: str
    columns: tuple[TableColumn, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""

    def __post_init__(self) -> None:
        assert all(len(row) == len(self.columns) for row in self.rows), self.name

    @property
    def words(self) -> list[list[str]]:
        """Every cell as it is read."""
        return [
            [write(cell, column.form) for cell, column in zip(row, self.columns, strict=True)]
            for row in self.rows
        ]

    def markdown(self) -> str:
        marks = "|".join("---" if column.is_text else "--:" for column in self.columns)
        lines = [f"**{self.title}**", "", _line([column.name for column in self.columns]), f"|{marks}|"]
        lines += map(_line, self.words)
        return "\n".join([*lines, *(["", self.note] if self.note else []), ""])

    def csv(self) -> str:
        text = io.StringIO(newline="")
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow([column.name for column in self.columns])
        writer.writerows(self.rows)
        return text.getvalue()

    def latex(self) -> str:
        """For `booktabs`."""
        form = "".join("l" if column.is_text else "r" for column in self.columns)
        return "\n".join(
            [
                r"\begin{table}",
                r"\centering",
                rf"\caption{{{_escape(self.title)}}}",
                rf"\label{{tab:{self.name}}}",
                rf"\begin{{tabular}}{{{form}}}",
                r"\toprule",
                _row([column.name for column in self.columns]),
                r"\midrule",
                *map(_row, self.words),
                r"\bottomrule",
                r"\end{tabular}",
                r"\end{table}",
                "",
            ]
        )


def write(cell: Cell, form: Form) -> str:
    if cell is None:
        return NOTHING
    return cell if isinstance(cell, str) else FORMS[form](cell)


def seconds(value: float) -> str:
    if value < 120:
        return f"{value:.0f} s"
    return f"{value / 60:.1f} min" if value < 7200 else f"{value / 3600:.1f} h"


def after(stage: float) -> str:
    """How a sentence on a stage begins."""
    return f"After {epochs(stage)}" if stage else "Without fine-tuning"


def size(value: float) -> str:
    """Bytes."""
    for limit, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if value >= limit:
            return f"{value / limit:.2f} {unit}"
    return f"{value:.0f} bytes"


def _percent(value: float) -> str:
    return f"{value:.3g}" if value >= LEAST_PERCENT or value == 0 else f"< {LEAST_PERCENT}"


FORMS: dict[Form, Callable[[float], str]] = {
    Form.TEXT: str,
    Form.SCORE: lambda value: f"{value:.4f}",
    Form.DELTA: lambda value: f"{value:+.4f}".replace("-", "−"),
    Form.COUNT: lambda value: f"{value:,.0f}",
    Form.PERCENT: _percent,
    Form.SHARE: lambda value: f"{100 * value:.0f} %",
    Form.NUMBER: lambda value: f"{value:.1f}",
    Form.SECONDS: seconds,
    Form.BYTES: size,
}


def interval(pair: tuple[float, float] | None) -> str | None:
    return None if pair is None else f"{pair[0]:.4f} to {pair[1]:.4f}"


def markdown_of(tables: Sequence[StudyTable]) -> str:
    return "\n".join(table.markdown() for table in tables)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _row(cells: Sequence[str]) -> str:
    return rf"{' & '.join(map(_escape, cells))} \\"


def _escape(text: str) -> str:
    return "".join(_escaped(text))


def _escaped(text: str) -> Iterator[str]:
    for letter in text:
        match letter:
            case "\\":
                yield r"\textbackslash{}"
            case "{" | "}" | "^" | "~":
                yield rf"\{letter}" + ("" if letter in "{}" else "{}")
            case _:
                yield LATEX.get(letter, letter)
