"""Tables are the same for a reader, a program and a paper."""

import csv
import io

from bv_search.study.table import Form, StudyTable, TableColumn, seconds, size

TABLE = StudyTable(
    name="heads",
    title="heads, 50 % of them",
    columns=(
        TableColumn(name="head", form=Form.TEXT),
        TableColumn(name="parameters", form=Form.COUNT),
        TableColumn(name="% of the encoder", form=Form.PERCENT),
        TableColumn(name="score"),
        TableColumn(name="gain", form=Form.DELTA),
        TableColumn(name="share", form=Form.SHARE),
    ),
    rows=(("a|b_c & d", 414952, 0.12381, 0.74049, -0.01, 0.3), ("none", 3, 0.0000123, None, None, None)),
    note="Means.",
)


def test_markdown_has_a_line_for_each_row_and_breaks_at_no_bar() -> None:
    title, _, head, marks, first, second, _, note = TABLE.markdown().splitlines()
    assert title == "**heads, 50 % of them**"
    assert head == "| head | parameters | % of the encoder | score | gain | share |"
    assert marks == "|---|--:|--:|--:|--:|--:|"
    assert first == r"| a\|b_c & d | 414,952 | 0.124 | 0.7405 | −0.0100 | 30 % |"
    assert second == "| none | 3 | < 0.001 | – | – | – |"
    assert note == "Means."


def test_csv_keeps_every_digit() -> None:
    head, first, second = csv.reader(io.StringIO(TABLE.csv()))
    assert head[3] == "score"
    assert first == ["a|b_c & d", "414952", "0.12381", "0.74049", "-0.01", "0.3"]
    assert second[3:] == ["", "", ""]


def test_latex_escapes_what_it_would_read_as_its_own() -> None:
    lines = TABLE.latex().splitlines()
    assert r"\caption{heads, 50 \% of them}" in lines
    assert r"a|b\_c \& d & 414,952 & 0.124 & 0.7405 & $-$0.0100 & 30 \% \\" in lines
    assert r"\begin{tabular}{lrrrrr}" in lines


def test_numbers_as_words() -> None:
    assert [seconds(each) for each in (9.4, 300, 7300)] == ["9 s", "5.0 min", "2.0 h"]
    assert [size(each) for each in (9, 2000, 3.5e6, 1e9)] == ["9 bytes", "2.00 kB", "3.50 MB", "1.00 GB"]
