"""A run's models into MLflow: what it ends with as LoggedModels, the best with a version in the registry."""

import io
import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass
from typing import Any

from bv_search.errors import RunError
from bv_search.model.loading import model_of_run
from bv_search.model.logged import LoggedModels, endings
from bv_search.run.folder import Run
from bv_search.run.mlflow import MlflowMirror
from bv_search.run.mlflow_children import RUN_TAG
from bv_search.run.tracking import reaching
from bv_search.store.store import Store
from bv_search.tasks.task import Task

ALIAS, ADDRESS = "best", "MLFLOW_TRACKING_URI"
DATA_TAG, SCORE_TAG, LOGGED_TAG = "bv.data", "bv.select_score", "bv.logged_model"


@dataclass(frozen=True, kw_only=True)
class Registered:
    name: str
    version: str
    uri: str  # for mlflow.pyfunc.load_model
    is_best: bool  # of its task: whether it has the alias


def registered_name(task: Task) -> str:
    return f"bv_search-{task.name}"


def register(run: Run, store: Store, mirror: MlflowMirror) -> Registered | None:
    """Log all that the search ends with, and register what the run answers with: its ensemble, or best head.

    None where MLflow could not be reached (`mirror.trouble` says why). What is there already stays: it can
    be called again at any time.
    """
    found = [(ending, model_of_run(run, ending.name)) for ending in endings(run)]
    try:
        with reaching(mirror.uri), _fluent(mirror.uri):
            logged = LoggedModels(run, mirror)
            ids = [logged.log(ending, model) for ending, model in found]
            (first, model), *_ = found
            tags = {
                RUN_TAG: run.study.id,
                DATA_TAG: store.manifest.data,
                SCORE_TAG: repr(first.metrics["select_score"]),
            }
            return _version(mirror.tracking.client, registered_name(model.task), ids[0], tags)
    except RunError as error:
        mirror.trouble = str(error)
        return None


def _version(client: Any, name: str, model_id: str, tags: Mapping[str, str]) -> Registered:
    """A new one, unless the model has one."""
    import mlflow

    tags = {**tags, LOGGED_TAG: model_id}
    known = client.search_model_versions(f"name='{name}'")
    made = next((version for version in known if version.tags.get(LOGGED_TAG) == model_id), None)
    if made is None:
        made = mlflow.register_model(f"models:/{model_id}", name, tags=tags)
    number = str(made.version)
    is_best = _is_best(client, name, number, tags)
    if is_best:
        client.set_registered_model_alias(name, ALIAS, number)
    return Registered(name=name, version=number, uri=f"models:/{name}/{number}", is_best=is_best)


def _is_best(client: Any, name: str, number: str, tags: Mapping[str, str]) -> bool:
    """The newest is, but where another run found better on the same data; `select` says so, not report."""
    holder = client.get_registered_model(name).aliases.get(ALIAS)
    if holder is None or str(holder) == number:
        return True
    others = client.get_model_version(name, holder).tags
    rivals = others.get(RUN_TAG) != tags[RUN_TAG] and others.get(DATA_TAG) == tags[DATA_TAG]
    return not (rivals and float(others[SCORE_TAG]) > float(tags[SCORE_TAG]))


@contextmanager
def _fluent(uri: str) -> Iterator[None]:
    """Saving a model and registering it go by MLflow's global state, which is put back as it was.

    It writes the address into the environment too, where a later run would take it for the user's wish; and
    it talks on standard error, which is the user's progress.
    """
    import mlflow

    named = os.environ.get(ADDRESS)
    before = mlflow.get_tracking_uri() if named is None and mlflow.is_tracking_uri_set() else None
    mlflow.set_tracking_uri(uri)
    try:
        with redirect_stderr(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        mlflow.set_tracking_uri(before)
        if named is not None:
            os.environ[ADDRESS] = named
