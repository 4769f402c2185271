"""Children in a database of our own, many at once: MLflow's client takes four calls and 17 ms for each.

The rows are those that the client would write, to the tables of one version of MLflow's schema; where it has
another one, its client has to do. A trial's run has its number from the study and the trial, so
that what is done twice is the same.
"""

import os
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname
from uuid import NAMESPACE_OID, uuid5

from bv_search.files import part_of
from bv_search.run.mlflow_children import (
    HEAD,
    PARENT_TAG,
    RUN_TAG,
    STATUS_TAG,
    TRIAL_TAG,
    VALUE_LIMIT,
    Child,
    ChildUpdate,
    Made,
    plain_params,
)

SCHEMA = "dc11669786a5"  # of MLflow's tables, as it numbers them: only in these are rows written
WAIT_SECONDS = 60.0  # for others that write

FIND = """
SELECT trial.value, runs.run_uuid, status.value, parent.value,
    EXISTS (SELECT 1 FROM params WHERE params.run_uuid = runs.run_uuid)
FROM tags AS study
JOIN tags AS trial ON trial.run_uuid = study.run_uuid AND trial.key = ? AND trial.value != ''
JOIN tags AS status ON status.run_uuid = study.run_uuid AND status.key = ?
LEFT JOIN tags AS parent ON parent.run_uuid = study.run_uuid AND parent.key = ?
JOIN runs ON runs.run_uuid = study.run_uuid AND runs.lifecycle_stage = 'active'
WHERE study.key = ? AND study.value = ?
"""
RUN = """
INSERT INTO runs (run_uuid, name, source_type, source_name, entry_point_name, user_id, status,
    start_time, source_version, lifecycle_stage, artifact_uri, experiment_id)
VALUES (?, ?, 'UNKNOWN', '', '', 'unknown', 'RUNNING', ?, '', 'active', ?, ?)
ON CONFLICT (run_uuid) DO UPDATE SET lifecycle_stage = 'active', deleted_time = NULL
"""
TAG = "INSERT OR REPLACE INTO tags (run_uuid, key, value) VALUES (?, ?, ?)"
PARAM = "INSERT OR IGNORE INTO params (run_uuid, key, value) VALUES (?, ?, ?)"
METRIC = """
INSERT OR IGNORE INTO metrics (run_uuid, key, value, timestamp, step, is_nan) VALUES (?, ?, ?, ?, ?, 0)
"""
LATEST = """
INSERT INTO latest_metrics (run_uuid, key, value, timestamp, step, is_nan) VALUES (?, ?, ?, ?, ?, 0)
ON CONFLICT (key, run_uuid)
DO UPDATE SET value = excluded.value, timestamp = excluded.timestamp, step = excluded.step
WHERE (excluded.step, excluded.timestamp, excluded.value) > (step, timestamp, value)
"""
ENDED = "UPDATE runs SET status = ?, end_time = ? WHERE run_uuid = ?"


def has_known_tables(database: Path) -> bool:
    with closing(sqlite3.connect(database, timeout=WAIT_SECONDS)) as connection:
        return connection.execute("SELECT version_num FROM alembic_version").fetchall() == [(SCHEMA,)]


class DatabaseChildren:
    def __init__(self, database: Path, experiment: str, study: str) -> None:
        self._database, self._experiment, self._study = database, experiment, study
        with self._connected() as connection:
            query = "SELECT artifact_location FROM experiments WHERE experiment_id = ?"
            ((self._artifacts,),) = connection.execute(query, (experiment,))

    def find(self) -> dict[str, Child]:
        with self._connected() as database:
            return {
                trial: Child(id=run, status=status, has_params=bool(has_params), parent=parent)
                for trial, run, status, parent, has_params in database.execute(
                    FIND, (TRIAL_TAG, STATUS_TAG, PARENT_TAG, RUN_TAG, self._study)
                )
            }

    def write(self, changes: Sequence[ChildUpdate], made: Made) -> None:
        runs = [change.child or self._number(change.trial) for change in changes]
        pairs = list(zip(runs, changes, strict=True))
        for run, change in pairs:
            if change.files is not None:
                link_files(change.files, self._place(run) / HEAD)
        new = [(run, change) for run, change in pairs if change.child is None]
        tags = [
            (run, key, value[:VALUE_LIMIT])
            for run, change in pairs
            for key, value in {**change.tags, **change.last_tags}.items()
        ]
        params = [(run, *each) for run, change in pairs for each in plain_params(change.params).items()]
        metrics = [
            (run, each.key, each.value, each.timestamp, each.step)
            for run, change in pairs
            for each in change.metrics
        ]
        ended = [(change.status, change.ended, run) for run, change in pairs if change.status is not None]
        with self._connected() as database:
            database.executemany(
                RUN, [(run, each.trial, each.begun, self._uri(run), self._experiment) for run, each in new]
            )
            database.executemany(TAG, tags)
            database.executemany(PARAM, params)
            database.executemany(METRIC, metrics)
            database.executemany(LATEST, metrics)
            database.executemany(ENDED, ended)
        for run, change in new:
            made(change.trial, run)

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        """All that is done inside counts, or nothing."""
        with closing(sqlite3.connect(self._database, timeout=WAIT_SECONDS)) as database, database:
            database.execute("PRAGMA synchronous=NORMAL")
            yield database

    def _number(self, trial: str) -> str:
        return uuid5(NAMESPACE_OID, f"{self._study} {trial}").hex

    def _uri(self, run: str) -> str:
        return f"{self._artifacts}/{run}/artifacts"

    def _place(self, run: str) -> Path:
        return Path(url2pathname(urlsplit(self._uri(run)).path))


def link_files(folder: Path, place: Path) -> None:
    """The same bytes under another name, where the disk can: nobody writes into a file of a trial again."""
    place.mkdir(parents=True, exist_ok=True)
    for path in folder.iterdir():
        try:
            with suppress(FileExistsError):
                os.link(path, place / path.name)
        except OSError:
            part = shutil.copyfile(path, part_of(place / path.name))
            part.replace(place / path.name)
