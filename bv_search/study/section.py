"""What a study comes to."""

from dataclasses import dataclass

from bv_search.study.table import StudyTable


@dataclass(frozen=True, kw_only=True)
class StudyFigure:
    name: str  # of its file
    svg: str
    caption: str


@dataclass(frozen=True, kw_only=True)
class DisputedRow:
    """A row of the data to read, and what each of two models says of it."""

    title: str  # of the group that it stands in
    texts: tuple[str, ...]
    truth: str
    head: str
    encoder: str


@dataclass(frozen=True, kw_only=True)
class Section:
    study: str
    title: str
    sentences: tuple[str, ...]
    tables: tuple[StudyTable, ...] = ()
    figures: tuple[StudyFigure, ...] = ()
    readings: tuple[DisputedRow, ...] = ()
