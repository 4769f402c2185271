"""The Hub: a task's data by its id, when there is a network or a cached copy."""

import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from bv_search.errors import DataError
from bv_search.ping import is_proxied
from bv_search.tasks.reading import find_columns, rows_of
from bv_search.tasks.record import Record
from bv_search.tasks.row import Row
from bv_search.tasks.task import Task

PATIENCE_SECONDS = 5.0


def read_hub(task: Task) -> dict[str, tuple[Row, ...]]:
    """The training rows and the evaluation splits, under their names here."""
    if task.layout.hub is None:
        raise DataError(
            f"the task {task.name} names no data of its own", expected="a folder or file", do=_advice(task)
        )
    splits = _download(task)
    found = {}
    for name in ("train", *task.layout.report):
        split = splits.get(name.replace("dev", "validation"))
        if split is not None:
            where = f"{task.layout.hub} {name}"
            columns = find_columns(task, tuple(split.column_names), where, labels=True)
            records = (Record(place=f"row {n}", values=values) for n, values in enumerate(split))
            found[name] = rows_of(task, columns, records, where=where, prefix=name, labels=True)
    if "train" not in found:
        raise DataError("has no split 'train'", where=task.layout.hub, found=", ".join(splits))
    return found


def _download(task: Task) -> Mapping[str, Any]:
    import datasets  # half a second that local files need not wait

    with _quiet_and_quick():
        try:
            splits: Mapping[str, Any] = datasets.load_dataset(task.layout.hub, task.layout.config)
        except Exception as error:  # whatever the Hub, its cache or the network may raise
            raise DataError(
                f"the data of {task.name} cannot be had from the Hub",
                where=task.layout.hub,
                found=str(error).strip().split("\n")[0][:120] or type(error).__name__,
                do=_advice(task),
            ) from error
    return splits


def _advice(task: Task) -> str:
    if task.layout.answers:
        form = "train*.json and dev*.json as SQuAD publishes them"
    else:
        evaluation = " and ".join(f"{name}.tsv" for name in task.layout.report)
        form = f"train.tsv and {evaluation} as GLUE publishes them"
    return f"give a local copy: --data FOLDER with {form}, or the same in parquet, csv or jsonl"


@contextmanager
def _quiet_and_quick() -> Iterator[None]:
    """No bars of others' making; and without a network only the cache is asked.

    The library would retry for 23 seconds to say the same.
    """
    import datasets
    from huggingface_hub import constants

    before = datasets.config.HF_HUB_OFFLINE, constants.HF_HUB_OFFLINE
    bars = not datasets.are_progress_bars_disabled()
    datasets.disable_progress_bars()
    if not _reachable(constants.ENDPOINT):
        datasets.config.HF_HUB_OFFLINE = constants.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        datasets.config.HF_HUB_OFFLINE, constants.HF_HUB_OFFLINE = before
        if bars:
            datasets.enable_progress_bars()


def _reachable(endpoint: str) -> bool:
    parts = urlsplit(endpoint)
    if is_proxied(parts.scheme):
        return True
    port = parts.port or (80 if parts.scheme == "http" else 443)
    try:
        socket.create_connection((parts.hostname or "", port), timeout=PATIENCE_SECONDS).close()
    except OSError:
        return False
    return True
