from pathlib import Path

from bv_search.tasks import TASKS, Answer, Role, load_dataset
from tests.tasks.data_files import WriteTsv, columns, message, squad, write, write_parquet


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


def test_shards_are_one_split(tmp_path: Path) -> None:
    for shard in range(2):
        half = {name: values[shard * 20 : shard * 20 + 20] for name, values in columns().items()}
        write_parquet(tmp_path / f"train-0000{shard}-of-00002.parquet", half)
    data = load_dataset(TASKS["sst2"], str(tmp_path))
    ids = [row.id for split in data.splits for row in split.rows]
    assert sorted(ids) == sorted(f"train-{n}" for n in range(40)), "of the split, whatever the shard"


def test_a_place_without_data(tmp_path: Path) -> None:
    assert message("sst2", tmp_path / "no", read=load_dataset) == (
        "FILE: does not exist; expected a folder or file with the task's data"
    )
    write(tmp_path / "notes.txt", "x")
    assert message("sst2", tmp_path, read=load_dataset) == (
        "FILE: holds no training rows; expected a file train* with one of the endings "
        ".json .tsv .csv .jsonl .parquet; found notes.txt"
    )


def test_two_files_for_one_split(tmp_path: Path) -> None:
    for name in ("train.json", "train-v2.0.json"):
        write(tmp_path / name, squad())
    assert message("squad2-span", tmp_path, read=load_dataset) == (
        "FILE: holds more than one file for 'train'; found train-v2.0.json, train.json; "
        "keep one of them, or give a folder with one"
    )


def test_too_few_passages_to_withhold_any(tmp_path: Path) -> None:
    path = write(tmp_path / "train.json", squad())
    assert message("squad2-span", path, read=load_dataset) == (
        "FILE: is too small to withhold rows for selection; "
        "expected at least 3 different passages or texts for training; found 1"
    )


def test_a_name_that_only_begins_like_a_splits_is_another(tmp_path: Path) -> None:
    write_parquet(tmp_path / "train.parquet", columns())
    write_parquet(tmp_path / "devices.parquet", columns())
    data = load_dataset(TASKS["sst2"], str(tmp_path))
    assert sum(len(split.rows) for split in data.splits) == 40
    assert any("devices.parquet: not read" in doubt for doubt in data.doubts)


def test_shards_that_are_not_there_are_missed(tmp_path: Path) -> None:
    write_parquet(tmp_path / "train-00000-of-00002.parquet", columns())
    assert message("sst2", tmp_path, read=load_dataset) == (
        "FILE: lacks shards; expected 2 like train-00000-of-00002.parquet; found 1"
    )
