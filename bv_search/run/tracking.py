"""A connection to MLflow: a server by MLFLOW_TRACKING_URI, else one database in the folder of the runs."""

import logging
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from bv_search.errors import BvError, RunError
from bv_search.files import part_of, remove_part
from bv_search.ping import is_proxied, ping, ping_http
from bv_search.run.lock import exclusive

DATABASE, ARTIFACTS, LOCK = "mlflow.db", "mlartifacts", ".mlflow.lock"
CONNECT_SECONDS = 60.0  # that another process may take to make a database
PLACES = (
    ("experiments", "artifact_location"),
    ("runs", "artifact_uri"),
    ("logged_models", "artifact_location"),
    ("model_versions", "source"),
    ("model_versions", "storage_location"),
)
"""Where MLflow's tables say where artifacts are."""

QUIET = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "0",  # MLflow's own seven would hold up a search for minutes
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "10",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
}


@dataclass(frozen=True, kw_only=True)
class Tracking:
    client: Any  # mlflow.MlflowClient
    uri: str
    experiment: str  # its id
    database: Path | None  # our own, where it is that


def default_uri(runs: Path) -> str:
    return f"sqlite:///{runs.resolve() / DATABASE}"


def find_uri(runs: Path, uri: str | None = None) -> str:
    """What was asked for, else what the environment says, else the database beside the runs."""
    return uri or os.environ.get("MLFLOW_TRACKING_URI") or default_uri(runs)


def experiment_name(task: str) -> str:
    return f"bv_search/{task}"


def connect(runs: Path, *, task: str, uri: str | None = None) -> Tracking:
    """A client and the task's experiment.

    Two processes that first connect to a new database race its migration, so that of our own is under a lock.
    """
    uri = find_uri(runs, uri)
    check_there(uri)
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    from mlflow import MlflowClient  # a second of imports, only where there is something to log

    for logger in ("mlflow", "alembic"):  # whatever fails is raised too, and told in one line
        logging.getLogger(logger).setLevel(logging.CRITICAL)

    own = uri == default_uri(runs)
    migration = exclusive(runs / LOCK, wait=CONNECT_SECONDS) if own else nullcontext()
    with migration, reaching(uri):
        root = (runs.resolve() / ARTIFACTS).as_uri() if own else None
        if root is not None:
            prepare_database(runs.resolve() / DATABASE, root)
        client = MlflowClient(tracking_uri=uri)
        experiment = _experiment(client, experiment_name(task), root)
        database = runs.resolve() / DATABASE if own else None
        return Tracking(client=client, uri=uri, experiment=experiment, database=database)


def check_there(uri: str) -> None:
    """Before MLflow asks, which it does for minutes and in lines of its own where there is nothing."""
    try:
        parts = urlsplit(uri)
        if parts.scheme in ("http", "https"):
            if is_proxied(parts.scheme):
                return
            greet = ping_http if parts.scheme == "http" else ping
            greet(parts.hostname or "", parts.port or (80 if parts.scheme == "http" else 443))
        elif parts.scheme == "sqlite":
            _check_database(Path(uri.partition(":///")[2]))
        elif parts.hostname and parts.port:
            ping(parts.hostname, parts.port)
    except (OSError, ValueError) as cause:
        raise _unreachable(uri, cause) from cause


def _check_database(path: Path) -> None:
    if path.exists() and not path.is_file():
        raise IsADirectoryError("no database, but a folder or a device")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise FileNotFoundError(f"{path.parent} is not there, or closed to you")


def prepare_database(path: Path, root: str) -> None:
    """A database of our own, with artifacts at `root`.

    It waits for the disk as little as is safe, since it is a copy of the journals. With MLflow's settings a
    trial costs a dozen waits, and a new database several hundred.
    """
    from sqlalchemy import Engine, event

    if not path.exists():
        part = part_of(path)
        event.listen(Engine, "connect", _never_wait)
        try:
            _migrate(part)
            part.replace(path)
        finally:
            event.remove(Engine, "connect", _never_wait)
            for left in (part, part.with_name(f"{part.name}-journal")):
                remove_part(left)
    else:
        _follow(path, root)
    _write_ahead(path)


def _follow(path: Path, root: str) -> None:
    """Runs may have been moved, or copied here, since they were noted: their artifacts came with them."""
    with closing(sqlite3.connect(path, timeout=CONNECT_SECONDS)) as database, database:
        query = "SELECT DISTINCT artifact_location FROM experiments WHERE name LIKE ?"
        for (old,) in database.execute(query, (experiment_name("%"),)).fetchall():
            if old != root:
                for table, column in PLACES:
                    _move(database, table, column, old, root)


def _move(database: sqlite3.Connection, table: str, column: str, old: str, new: str) -> None:
    known = {name for _, name, *_ in database.execute(f"PRAGMA table_info({table})")}
    if column in known:
        database.execute(
            f"UPDATE {table} SET {column} = ?1 || substr({column}, length(?2) + 1) "  # noqa: S608
            f"WHERE {column} = ?2 OR substr({column}, 1, length(?2) + 1) = ?2 || '/'",
            (new, old),
        )


def _migrate(path: Path) -> None:
    from mlflow import MlflowClient

    MlflowClient(tracking_uri=f"sqlite:///{path}").get_experiment_by_name("")
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _never_wait(connection: Any, _: object) -> None:
    connection.execute("PRAGMA synchronous=OFF")


@cache
def _write_ahead(path: Path) -> None:
    """A power cut may cost the last commits, which the next `sync` makes again, but not the database."""
    from sqlalchemy import Engine, event

    def relax(connection: Any, _: object) -> None:
        if isinstance(connection, sqlite3.Connection):
            files = [Path(file) for _, _, file in connection.execute("PRAGMA database_list") if file]
            if path in files:
                connection.execute("PRAGMA journal_mode=WAL")
                connection.execute("PRAGMA synchronous=NORMAL")

    event.listen(Engine, "connect", relax)


@contextmanager
def reaching(uri: str) -> Iterator[None]:
    """Failures of MLflow, and of the clients that it calls for databases and artifacts, as one line."""
    try:
        yield
    except BvError:
        raise
    except Exception as cause:
        raise _unreachable(uri, cause) from cause


def _unreachable(uri: str, cause: Exception) -> RunError:
    do = "start that server, or unset MLFLOW_TRACKING_URI to use a database beside the runs"
    if uri.startswith("sqlite:"):
        do = "make room and a way for that file, or name another one, or a server, by MLFLOW_TRACKING_URI"
    return RunError(
        "MLflow cannot be reached",
        where=without_password(uri),
        found=next(iter(str(cause).replace(uri, without_password(uri)).splitlines()), type(cause).__name__),
        do=do,
    )


def without_password(uri: str) -> str:
    """An address may hold one, and messages are kept in logs."""
    scheme, mark, rest = uri.partition("://")
    return f"{scheme}{mark}{rest.rpartition('@')[2]}"


def _experiment(client: Any, name: str, root: str | None) -> str:
    from mlflow.exceptions import MlflowException

    found = client.get_experiment_by_name(name)
    if found is None:
        try:
            return str(client.create_experiment(name, artifact_location=root))
        except MlflowException:  # someone else made it first
            found = client.get_experiment_by_name(name)
            if found is None:
                raise
    if found.lifecycle_stage == "deleted":
        client.restore_experiment(found.experiment_id)
    return str(found.experiment_id)
