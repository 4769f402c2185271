"""Answers as a file, in the form that its ending names."""

import csv
import json
from pathlib import Path

import pytest

from bv_search.errors import OutputError
from bv_search.predict.output import FORMATS, check_output, write_answers

ROWS = [{"id": "1", "prediction": 'tab\t"and" straße'}, {"id": "2", "prediction": "line\nbreak"}]


def test_every_form_gives_the_answers_back(tmp_path: Path) -> None:
    for ending in FORMATS:
        write_answers(tmp_path / f"a{ending}", ROWS)
    assert json.loads((tmp_path / "a.json").read_text()) == {row["id"]: row["prediction"] for row in ROWS}
    assert [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()] == ROWS
    with (tmp_path / "a.tsv").open(newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    read = [{"id": row["index"], "prediction": row["prediction"]} for row in rows]
    assert read == ROWS


def test_letters_stay_as_they_are(tmp_path: Path) -> None:
    for ending in FORMATS:
        write_answers(tmp_path / f"a{ending}", ROWS)
        assert "straße" in (tmp_path / f"a{ending}").read_text(encoding="utf-8")


def test_a_number_that_is_none_is_no_json() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        FORMATS[".jsonl"]([{"id": "1", "prediction": float("nan")}])


def test_what_cannot_be_written_is_refused_before_any_work(tmp_path: Path) -> None:
    (tmp_path / "there.json").write_text("mine")
    (tmp_path / "folder.json").mkdir()
    for name, message in (
        ("a.txt", r"has an unknown ending; expected one of \.json, \.jsonl, \.tsv; found \.txt"),
        ("a", "has an unknown ending; .* found none"),
        ("there.json", "already exists"),
        ("folder.json", "is no file that could be replaced"),
        ("there.json/a.json", "cannot be written"),
    ):
        with pytest.raises(OutputError, match=message):
            check_output(tmp_path / name, overwrite=False)
    check_output(tmp_path / "there.json", overwrite=True)
    check_output(tmp_path / "new" / "a.json", overwrite=False)
    assert (tmp_path / "there.json").read_text() == "mine"
    assert not (tmp_path / "new").exists()
