"""Data sets: the splits of a task with their roles, from the Hub or from local files."""

import re
from pathlib import Path

from bv_search.errors import DataError
from bv_search.files import home_path
from bv_search.tasks.cut import cut_rows, doubt_of_cut
from bv_search.tasks.files import READERS
from bv_search.tasks.hub import read_hub
from bv_search.tasks.reading import read_file
from bv_search.tasks.row import Dataset, Role, Row, Split
from bv_search.tasks.task import Task

OTHER_NAMES = {"dev": "validation"}  # what the Hub's exports call a split


def load_dataset(task: Task, data: str | None = None, *, seed: int = 0) -> Dataset:
    """The task's rows in the roles that keep scores honest.

    `data` is a folder or a file; None means the Hub. The official evaluation rows are `report`; a
    seeded slice of the official training rows is `select`; the rest is `train`. Where there are no
    evaluation rows, they are cut off the training rows first.
    """
    found = read_hub(task) if data is None else _read_local(task, home_path(data))
    where = task.layout.hub if data is None else data
    train = found.pop("train")
    doubts: list[str | None] = []
    if not found:
        _require_groups(train, 3, where)
        train, found["dev"] = cut_rows(train, seed=seed, salt="dev")
        doubts += [_doubt_of_files(data), _doubt("dev", train, found["dev"])]
    _require_groups(train, 2, where)
    train, select = cut_rows(train, seed=seed, salt="select")
    doubts.append(_doubt("select", train, select))
    report = (Split(name=name, role=Role.REPORT, rows=rows) for name, rows in found.items())
    return Dataset(
        splits=(
            Split(name="train", role=Role.TRAIN, rows=train),
            Split(name="select", role=Role.SELECT, rows=select),
            *report,
        ),
        doubts=tuple(doubt for doubt in doubts if doubt is not None),
    )


def read_rows(task: Task, path: str | Path) -> tuple[Row, ...]:
    """The rows of a single file; those that nobody has labelled come without a label."""
    path = home_path(path)
    return read_file(task, path, prefix=_split_name(path), labels=False)


def _split_name(path: Path) -> str:
    """Rows of MNLI's two evaluation files are told apart by their ids, whatever the file's spelling."""
    return path.stem.replace(OTHER_NAMES["dev"], "dev")


def _read_local(task: Task, place: Path) -> dict[str, tuple[Row, ...]]:
    if not place.exists():
        raise DataError("does not exist", where=place, expected="a folder or file with the task's data")
    if place.is_file():
        return {"train": read_file(task, place, prefix="train", labels=True)}
    train = _files(place, "train")
    if not train:
        raise DataError(
            "holds no training rows",
            where=place,
            expected=f"a file train* with one of the endings {' '.join(READERS)}",
            found=", ".join(sorted(each.name for each in place.iterdir())[:8]) or "an empty folder",
        )
    found = {"train": _read_files(task, train, "train")}
    for split in task.layout.report:
        if files := _files(place, split):
            found[split] = _read_files(task, files, split)
    return found


def _files(folder: Path, split: str) -> list[Path]:
    """The file of a split, or its shards (train-00000-of-00002.parquet).

    What is of a file is not the file: beside MRPC's dev.tsv lies a dev_ids.tsv.
    """
    names = (split, split.replace("dev", OTHER_NAMES["dev"]))
    files = [path for path in _data_files(folder) if re.match(rf"({'|'.join(names)})[._-]", path.name)]
    if any(path.stem in names for path in files):
        files = [path for path in files if not path.name.startswith(tuple(f"{name}_" for name in names))]
    if len(files) > 1 and not all("-of-" in path.name for path in files):
        raise DataError(
            f"holds more than one file for {split!r}",
            where=folder,
            found=", ".join(path.name for path in files),
            do="keep one of them, or give a folder with one",
        )
    _require_shards(files)
    return files


def _data_files(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.iterdir()) if path.suffix.lower() in READERS and path.is_file()]


def _require_shards(files: list[Path]) -> None:
    """All that their names speak of."""
    if files and (said := re.search(r"-of-0*(\d+)", files[0].name)) and int(said[1]) != len(files):
        raise DataError(
            "lacks shards",
            where=files[0].parent,
            expected=f"{said[1]} like {files[0].name}",
            found=str(len(files)),
        )


def _doubt_of_files(data: str | None) -> str | None:
    """What may have been meant for evaluation, where nothing has the name for it."""
    if data is None or not (folder := home_path(data)).is_dir():
        return None
    others = [path.name for path in _data_files(folder) if not path.name.startswith("train")]
    if not others:
        return None
    return (
        f"{', '.join(others[:3])}: not read, since evaluation rows are looked for in dev* and validation*; "
        "they were cut from the training rows"
    )


def _read_files(task: Task, files: list[Path], split: str) -> tuple[Row, ...]:
    if len(files) == 1:
        return read_file(task, files[0], prefix=split, labels=True)
    rows: list[Row] = []
    for path in files:
        rows += read_file(task, path, prefix=split, first=len(rows), labels=True)
    if len({row.id for row in rows}) < len(rows):
        raise DataError("the same id stands in two shards", where=files[0].parent)
    return tuple(rows)


def _doubt(name: str, kept: tuple[Row, ...], withheld: tuple[Row, ...]) -> str | None:
    return doubt_of_cut(name, (row.group for row in kept), (row.group for row in withheld))


def _require_groups(rows: tuple[Row, ...], least: int, where: object) -> None:
    groups = len({row.group for row in rows})
    if groups < least:
        raise DataError(
            "is too small to withhold rows for selection",
            where=where,
            expected=f"at least {least} different passages or texts for training",
            found=f"{groups}",
        )
