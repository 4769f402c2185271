import csv
import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bv_search.tasks import TASKS, Answer, Role, load_dataset, read_rows

WriteTsv = Callable[..., Path]

SENTENCES = [(f"sentence {number}", number % 2) for number in range(40)]


def columns() -> dict[str, list[object]]:
    return {
        "sentence": [text for text, _ in SENTENCES],
        "label": [label for _, label in SENTENCES],
        "idx": list(range(40)),
    }


def test_official_squad_files_become_questions_with_their_passages(squad_folder: Path) -> None:
    data = load_dataset(TASKS["squad2-span"], str(squad_folder))
    rows = {row.id: row for role in Role for row in data.rows(role)}
    assert len(rows) == 100
    assert rows["yes-3"].text_a == "When was house 3 built?"
    assert rows["yes-3"].text_b == rows["yes-3"].group == "House 3 was built in 1803 by the sea."
    assert rows["yes-3"].answers == (Answer(text="1803", start=21),)
    assert rows["no-3"].answers == ()
    assert {row.id for row in data.rows(Role.REPORT)} == {
        f"{kind}-{number}" for kind in ("yes", "no") for number in range(40, 50)
    }


def test_the_same_files_say_whether_a_question_has_an_answer(squad_folder: Path) -> None:
    rows = load_dataset(TASKS["squad2-answerable"], str(squad_folder)).rows(Role.REPORT)
    assert {row.id.split("-")[0]: row.label for row in rows} == {"yes": 1.0, "no": 0.0}
    assert all(row.answers is None for row in rows)


def test_selection_rows_come_from_training_by_whole_passages(squad_folder: Path) -> None:
    data = load_dataset(TASKS["squad2-span"], str(squad_folder))
    train, select = data.split("train"), data.split("select")
    assert (train.role, select.role, data.split("dev").role) == (Role.TRAIN, Role.SELECT, Role.REPORT)
    assert len(select.rows) == 40  # half of 80, since 300 are not there
    assert not {row.group for row in train.rows} & {row.group for row in select.rows}


def test_without_evaluation_rows_some_are_cut_off_first(squad_folder: Path) -> None:
    with_dev = load_dataset(TASKS["squad2-span"], str(squad_folder))
    (squad_folder / "dev-v2.0.json").unlink()
    data = load_dataset(TASKS["squad2-span"], str(squad_folder))
    assert [(split.name, split.role, len(split.rows)) for split in data.splits] == [
        ("train", Role.TRAIN, 20),
        ("select", Role.SELECT, 20),
        ("dev", Role.REPORT, 40),
    ]
    everything = {row.id for role in Role for row in data.rows(role)}
    assert everything == {row.id for role in (Role.TRAIN, Role.SELECT) for row in with_dev.rows(role)}


def test_a_single_file_is_cut_into_all_roles(squad_folder: Path) -> None:
    data = load_dataset(TASKS["squad2-span"], str(squad_folder / "train-v2.0.json"))
    assert [len(split.rows) for split in data.splits] == [20, 20, 40]


def test_one_frequent_first_text_is_not_withheld_and_what_is_left_of_the_cuts_is_told(
    write_tsv: WriteTsv,
) -> None:
    header = ("index", "sentence1", "sentence2", "label")
    texts = ["the same"] * 950 + [f"premise {n}" for n in range(50)]
    rows = [(n, text, f"hypothesis {n}", "entailment") for n, text in enumerate(texts)]
    data = load_dataset(TASKS["rte"], str(write_tsv("train.tsv", header, *rows)))
    assert [len(split.rows) for split in data.splits] == [963, 12, 25]
    assert all(row.text_a != "the same" for split in data.splits[1:] for row in split.rows)
    assert [doubt.partition(":")[0] for doubt in data.doubts] == [
        "dev has 25 of 1,000 rows where 300 were wanted",
        "select has 12 of 975 rows where 300 were wanted",
    ]


def test_cuts_of_small_groups_raise_no_doubt(squad_folder: Path) -> None:
    assert load_dataset(TASKS["squad2-span"], str(squad_folder)).doubts == ()


def test_the_seed_decides_what_is_withheld(squad_folder: Path) -> None:
    one, same, other = (load_dataset(TASKS["squad2-span"], str(squad_folder), seed=s) for s in (0, 0, 1))
    assert one.digest == same.digest != other.digest


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


def test_mnli_has_two_evaluation_sets(write_tsv: WriteTsv) -> None:
    header = ("index", "sentence1", "sentence2", "label1", "gold_label")
    rows = [(n, f"premise {n}", "hypothesis", "neutral", "contradiction") for n in range(12)]
    folder = write_tsv("train.tsv", header, *rows).parent
    write_tsv("dev_matched.tsv", header, *rows[:3])
    write_tsv("dev_mismatched.tsv", header, *rows[:2])
    data = load_dataset(TASKS["mnli"], str(folder))
    assert [split.name for split in data.splits] == ["train", "select", "dev_matched", "dev_mismatched"]
    assert [row.id for row in data.rows(Role.REPORT)] == [
        *(f"dev_matched-{n}" for n in range(3)),
        *(f"dev_mismatched-{n}" for n in range(2)),
    ]
    assert {row.label for row in data.rows(Role.REPORT)} == {2.0}


def test_what_lies_beside_an_official_file_is_left_alone(write_tsv: WriteTsv) -> None:
    """The usual script leaves a dev_ids.tsv beside MRPC's dev.tsv."""
    header = ("Quality", "#1 ID", "#2 ID", "#1 String", "#2 String")
    rows = [(n % 2, n, n, f"first {n}", f"second {n}") for n in range(12)]
    folder = write_tsv("train.tsv", header, *rows).parent
    write_tsv("dev.tsv", header, *rows[:3])
    write_tsv("dev_ids.tsv", (1, 2))
    assert len(load_dataset(TASKS["mrpc"], str(folder)).rows(Role.REPORT)) == 3


def test_qnlis_passages_stay_together(write_tsv: WriteTsv) -> None:
    header = ("index", "question", "sentence", "label")
    rows = [(n, f"question {n}", f"passage {n // 4}", "entailment") for n in range(40)]
    data = load_dataset(TASKS["qnli"], str(write_tsv("train.tsv", header, *rows).parent))
    passages = [{row.text_b for row in split.rows} for split in data.splits]
    assert sum(map(len, passages)) == 10


def test_rows_that_qqp_itself_has_broken_are_skipped(write_tsv: WriteTsv) -> None:
    header = ("id", "qid1", "qid2", "question1", "question2", "is_duplicate")
    path = write_tsv("dev.tsv", header, (1, 2, 3, "why", "how", 1), (4, 5, "torn"), (6, 7, 8, "a", "b", 0))
    assert [row.text_a for row in read_rows(TASKS["qqp"], path)] == ["why", "a"]


def write_parquet(path: Path, values: dict[str, list[object]]) -> None:
    pq.write_table(pa.table(values), path)


def write_csv(path: Path, values: dict[str, list[object]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(values)
        writer.writerows(zip(*values.values(), strict=True))


def write_jsonl(path: Path, values: dict[str, list[object]]) -> None:
    rows = [dict(zip(values, row, strict=True)) for row in zip(*values.values(), strict=True)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def write_json(path: Path, values: dict[str, list[object]]) -> None:
    rows = [dict(zip(values, row, strict=True)) for row in zip(*values.values(), strict=True)]
    path.write_text(json.dumps(rows), encoding="utf-8")


WRITERS = {"parquet": write_parquet, "csv": write_csv, "jsonl": write_jsonl, "json": write_json}


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


def test_answers_stand_as_json_in_a_csv(tmp_path: Path) -> None:
    answers = json.dumps([{"text": "Ada", "answer_start": 0}])
    write_csv(
        tmp_path / "new.csv",
        {"id": ["1", "2"], "context": ["Ada did."] * 2, "question": ["Who?"] * 2, "answers": [answers, ""]},
    )
    rows = read_rows(TASKS["squad2-span"], tmp_path / "new.csv")
    assert [row.answers for row in rows] == [(Answer(text="Ada", start=0),), None]


def test_shards_are_one_split(tmp_path: Path) -> None:
    for shard in range(2):
        half = {name: values[shard * 20 : shard * 20 + 20] for name, values in columns().items()}
        write_parquet(tmp_path / f"train-0000{shard}-of-00002.parquet", half)
    data = load_dataset(TASKS["sst2"], str(tmp_path))
    ids = [row.id for split in data.splits for row in split.rows]
    assert sorted(ids) == sorted(f"train-{n}" for n in range(40)), "of the split, whatever the shard"


def test_questions_without_answers_can_be_read_for_predicting(tmp_path: Path) -> None:
    paragraph = {"context": "Ada did.", "qas": [{"id": 7, "question": "Who?"}]}
    path = tmp_path / "new.json"
    path.write_text(json.dumps({"data": [{"paragraphs": [paragraph]}]}), encoding="utf-8")
    row = read_rows(TASKS["squad2-span"], path)[0]
    assert (row.id, row.answers) == ("7", None)
    assert read_rows(TASKS["squad2-answerable"], path)[0].label is None


def test_hidden_labels_are_no_labels(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "test.jsonl", {"sentence": ["a", "b", "c"], "label": [-1, None, 1]})
    rows = read_rows(TASKS["sst2"], tmp_path / "test.jsonl")
    assert [row.label for row in rows] == [None, None, 1.0]


def test_a_table_may_have_the_hubs_names_or_the_official_ones(tmp_path: Path) -> None:
    for name, target in (("hub", "label"), ("official", "score")):
        values: dict[str, list[object]] = {"sentence1": ["a"], "sentence2": ["b"], target: [3.5]}
        write_jsonl(tmp_path / f"{name}.jsonl", values)
        assert read_rows(TASKS["stsb"], tmp_path / f"{name}.jsonl")[0].label == 3.5


def test_labels_may_be_given_by_name_or_number(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "a.jsonl", {"sentence": list("abcd"), "label": ["negative", "positive", "1", 0.0]})
    assert [row.label for row in read_rows(TASKS["sst2"], tmp_path / "a.jsonl")] == [0.0, 1.0, 1.0, 0.0]


@pytest.mark.parametrize("start", [5, 6, 7, 8, 9])
def test_an_answer_a_character_or_two_off_its_place_is_put_right(tmp_path: Path, start: int) -> None:
    answers = [{"text": "Ada", "answer_start": start}]
    value = {"question": "Who?", "context": "It was Ada.", "answers": answers}
    (tmp_path / "a.jsonl").write_text(json.dumps(value), encoding="utf-8")
    assert read_rows(TASKS["squad2-span"], tmp_path / "a.jsonl")[0].answers == (Answer(text="Ada", start=7),)
