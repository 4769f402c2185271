"""Tables: every row whole, and what is wrong with one is said with its line."""

from pathlib import Path

import pytest

from bv_search.errors import DataError
from bv_search.tasks import TASKS, find_task, read_rows
from tests.tasks.data_files import WriteTsv, message, write


def test_a_parquet_file_that_is_empty_or_damaged(tmp_path: Path) -> None:
    assert message("sst2", write(tmp_path / "a.parquet", b"")).startswith(
        "FILE: is empty; expected a Parquet"
    )
    assert message("sst2", write(tmp_path / "b.parquet", b"PAR1 no")).startswith("FILE: is damaged; expected")


def test_a_row_of_a_tsv_that_lacks_columns(write_tsv: WriteTsv) -> None:
    header = ("index", "sentence1", "sentence2", "label")
    path = write_tsv("train.tsv", header, (0, "a", "b", "entailment"), (1, "c", "entailment"))
    assert message("rte", path) == "FILE line 3: a row lacks columns; expected 4 columns; found 3"


def test_a_row_of_ones_own_tsv_that_has_more_columns_is_not_cut(tmp_path: Path) -> None:
    yaml = "{kind: classification, labels: [bad, good], columns: {text: t, label: l}}"
    own = find_task(str(write(tmp_path / "own.yaml", yaml)))
    path = write(tmp_path / "a.tsv", "l\tt\ngood\tfine\n\t\ngood\tfine\tand the rest\n")
    with pytest.raises(
        DataError, match=r"a\.tsv line 4: a row has more columns .* expected 2 .*found 3; take"
    ):
        read_rows(own, path)
    path = write(tmp_path / "b.tsv", "l\tt\ngood\tfine\n\t\n\nbad\tpoor\n\t\n")
    assert [(row.text_a, row.label) for row in read_rows(own, path)] == [("fine", 1.0), ("poor", 0.0)]


def test_a_row_of_glue_that_has_more_columns_is_read_as_ever(write_tsv: WriteTsv) -> None:
    path = write_tsv("dev.tsv", ("sentence", "label"), ("fine", 1, "more"))
    assert [(row.text_a, row.label) for row in read_rows(TASKS["sst2"], path)] == [("fine", 1.0)]


def test_a_row_of_cola_that_lacks_columns(write_tsv: WriteTsv) -> None:
    path = write_tsv("train.tsv", ("gj04", 1, "", "Fine."), ("gj04", 1, ""))
    assert message("cola", path) == "FILE line 2: a row lacks columns; expected 4 columns; found 3"


def test_a_row_of_a_csv_with_other_columns(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "sentence,label\na,1\nb,c,1\n")
    assert message("sst2", path) == (
        "FILE line 3: a row has other columns than the header; expected 2 columns; found 3"
    )


def test_a_line_of_a_csv_without_anything_is_no_row(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "sentence,label\na,1\n\n,\n , \n,,,\nb,0\n,,\n")
    assert [(row.id, row.text_a) for row in read_rows(TASKS["sst2"], path)] == [("a-0", "a"), ("a-1", "b")]
    path = write(tmp_path / "b.csv", 'sentence\n""\n\nc\n')
    assert [row.text_a for row in read_rows(TASKS["sst2"], path)] == ["", "c"]


def test_a_line_that_is_not_json(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", '{"sentence": "a", "label": 1}\n{"sentence": \n')
    assert message("sst2", path).startswith("FILE line 2: is not JSON; found Expecting value at column")
    assert message("sst2", write(tmp_path / "b.jsonl", "[]\n")) == (
        "FILE line 1: is not a row; expected a JSON object; found list"
    )


def test_a_torn_table_is_found_wherever_it_is_cut(write_tsv: WriteTsv) -> None:
    """Whatever the cut, there is either one clear error or nothing but whole rows."""
    header = ("index", "sentence1", "sentence2", "label")
    rows = [(n, "one", "two", "entailment") for n in range(3)]
    whole = write_tsv("whole.tsv", header, *rows)
    good = read_rows(TASKS["rte"], whole)
    for length in range(whole.stat().st_size):
        path = write(whole.with_name("whole.tsv.part.tsv"), whole.read_bytes()[:length])
        try:
            left = read_rows(TASKS["rte"], path)
        except DataError:
            continue
        labelled = [row.key for row in left if row.labelled]
        assert labelled == [row.key for row in good[: len(labelled)]]
        assert len(labelled) >= len(left) - 1  # cut right before its label, a row has none


def test_quotes_in_glue_files_are_plain_characters(write_tsv: WriteTsv) -> None:
    path = write_tsv("dev.tsv", ("sentence", "label"), ('" a " b', 1), ('he said "no', 0), ("it's", 1))
    assert [row.text_a for row in read_rows(TASKS["sst2"], path)] == ['" a " b', 'he said "no', "it's"]


def test_only_a_line_feed_ends_a_line(write_tsv: WriteTsv) -> None:
    path = write_tsv("dev.tsv", ("sentence", "label"), ("one\u2028two\x85three\x0cfour", 1), ("five", 0))
    assert [row.text_a for row in read_rows(TASKS["sst2"], path)] == ["one\u2028two\x85three\x0cfour", "five"]


def test_windows_line_ends_are_understood(tmp_path: Path) -> None:
    path = tmp_path / "dev.tsv"
    path.write_bytes(b"sentence\tlabel\r\nfine\t1\r\n")
    assert read_rows(TASKS["sst2"], path)[0].label == 1.0


def test_a_byte_order_mark_is_not_part_of_a_column(write_tsv: WriteTsv) -> None:
    header = ("\ufeffQuality", "#1 ID", "#2 ID", "#1 String", "#2 String")
    row = read_rows(TASKS["mrpc"], write_tsv("dev.tsv", header, (1, 10, 11, "left", "right")))[0]
    assert (row.id, row.text_a, row.text_b, row.group, row.label) == ("dev-0", "left", "right", "left", 1.0)


def test_cola_has_no_header(write_tsv: WriteTsv) -> None:
    path = write_tsv("dev.tsv", ("gj04", 1, "", "The sailors rode."), ("gj04", 0, "*", "Rode sailors the."))
    assert [(row.text_a, row.label) for row in read_rows(TASKS["cola"], path)] == [
        ("The sailors rode.", 1.0),
        ("Rode sailors the.", 0.0),
    ]


def test_colas_test_file_has_a_header_and_no_labels(write_tsv: WriteTsv) -> None:
    path = write_tsv("test.tsv", ("index", "sentence"), (0, "Bill ran."), (1, "Ran Bill."))
    assert [(row.id, row.text_a, row.label) for row in read_rows(TASKS["cola"], path)] == [
        ("test-0", "Bill ran.", None),
        ("test-1", "Ran Bill.", None),
    ]


def test_rows_that_qqp_itself_has_broken_are_skipped(write_tsv: WriteTsv) -> None:
    header = ("id", "qid1", "qid2", "question1", "question2", "is_duplicate")
    path = write_tsv("dev.tsv", header, (1, 2, 3, "why", "how", 1), (4, 5, "torn"), (6, 7, 8, "a", "b", 0))
    assert [row.text_a for row in read_rows(TASKS["qqp"], path)] == ["why", "a"]


def test_a_quote_that_nothing_closes_swallows_no_rows(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", 'label,sentence\n1,a\n0,"begins\n1,c\n')
    assert message("sst2", path).startswith("FILE line 4: is not CSV; found unexpected end of data")


def test_a_text_of_a_csv_may_be_long(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", f"label,sentence\n1,{'word ' * 40_000}\n")
    (row,) = read_rows(TASKS["sst2"], path)
    assert len(row.text_a) >= 199_999
