"""Files of a data set are read by their endings."""

from pathlib import Path

import pytest

from bv_search.tasks import TASKS, load_dataset, read_rows
from tests.tasks.data_files import SENTENCES, WRITERS, WriteTsv, columns, message, write


def test_a_format_that_is_not_known(tmp_path: Path) -> None:
    assert message("sst2", write(tmp_path / "a.xlsx", b"x")) == (
        "FILE: is in no format that is known; expected .json .tsv .csv .jsonl .parquet; found .xlsx"
    )


def test_a_folder_where_a_file_is_meant(tmp_path: Path) -> None:
    assert message("sst2", tmp_path) == "FILE: is a folder; expected a file"


@pytest.mark.parametrize("ending", WRITERS)
def test_every_format_gives_the_same_rows(ending: str, tmp_path: Path, write_tsv: WriteTsv) -> None:
    folder = tmp_path / ending
    folder.mkdir()
    WRITERS[ending](folder / f"train.{ending}", columns())
    WRITERS[ending](folder / f"validation.{ending}", columns())
    official = write_tsv("tsv/train.tsv", ("sentence", "label"), *SENTENCES)
    write_tsv("tsv/dev.tsv", ("sentence", "label"), *SENTENCES)
    theirs = load_dataset(TASKS["sst2"], str(official.parent))
    assert load_dataset(TASKS["sst2"], str(folder)).digest == theirs.digest


@pytest.mark.parametrize("ending", ["parquet", "jsonl"])
def test_the_hubs_form_of_squad_gives_the_same_rows(ending: str, tmp_path: Path, squad_folder: Path) -> None:
    official = read_rows(TASKS["squad2-span"], squad_folder / "train-v2.0.json")
    values: dict[str, list[object]] = {
        "id": [row.id for row in official],
        "context": [row.text_b for row in official],
        "question": [row.text_a for row in official],
        "answers": [
            {
                "text": [answer.text for answer in row.answers or ()],
                "answer_start": [answer.start for answer in row.answers or ()],
            }
            for row in official
        ],
    }
    WRITERS[ending](tmp_path / f"train.{ending}", values)
    assert read_rows(TASKS["squad2-span"], tmp_path / f"train.{ending}") == official
