"""A file of a data set holds something, and that is text."""

from pathlib import Path

import pytest

from tests.tasks.data_files import message, write


@pytest.mark.parametrize("ending", ["json", "tsv", "csv", "jsonl", "parquet"])
def test_a_file_that_is_missing(tmp_path: Path, ending: str) -> None:
    assert message("squad2-span", tmp_path / f"no.{ending}") == "FILE: does not exist"


@pytest.mark.parametrize("ending", ["json", "tsv", "csv", "jsonl"])
@pytest.mark.parametrize("content", [b"", b" \n"])
def test_a_file_that_is_empty(tmp_path: Path, ending: str, content: bytes) -> None:
    assert message("sst2", write(tmp_path / f"a.{ending}", content)) == "FILE: is empty"


@pytest.mark.parametrize("ending", ["json", "tsv", "csv", "jsonl"])
def test_a_file_that_is_not_utf8(tmp_path: Path, ending: str) -> None:
    path = write(tmp_path / f"a.{ending}", "sentence\tlabel\ncafé\t1\n".encode("latin-1"))
    assert message("sst2", path) == "FILE: is not UTF-8; found byte 0xe9 at position 18"
