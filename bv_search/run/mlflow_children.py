"""What MLflow has of trials, a child run each: found again by its tags, and changed by MLflow's client."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path
from typing import Any, Protocol

from bv_search.run.points import parameter_name
from bv_search.run.tracking import Tracking

RUN_TAG, TRIAL_TAG, STATUS_TAG = "bv.run", "bv.trial", "bv.status"
PARENT_TAG = "mlflow.parentRunId"
HEAD = "head"  # the folder of a child's artifacts
PAGE = 1000
METRICS, PARAMS = 800, 100  # of one call
VALUE_LIMIT = 500  # characters of a parameter


@dataclass(frozen=True, kw_only=True)
class Child:
    """What MLflow already knows of a trial."""

    id: str
    status: str
    has_params: bool
    parent: str | None  # the run that it stands under
    points: int = 0  # of its curve


@dataclass(frozen=True, kw_only=True)
class ChildUpdate:
    """What it does not know yet."""

    trial: str
    child: str | None  # its run; None: there is none yet
    begun: int  # milliseconds since 1970
    tags: Mapping[str, str] = field(default_factory=dict)  # of a new one
    last_tags: Mapping[str, str] = field(default_factory=dict)  # with the last of what is written
    params: Mapping[str, Any] = field(default_factory=dict)
    metrics: Sequence[Any] = ()
    files: Path | None = None
    status: str | None = None  # MLflow's word for how it ended, if it did …
    ended: int | None = None  # … and when


Made = Callable[[str, str], object]
"""Hears of a trial's run as soon as it is there: what fails from then on does not make another one."""


class Children(Protocol):
    def find(self) -> dict[str, Child]:
        """By trial."""

    def write(self, changes: Sequence[ChildUpdate], made: Made) -> None:
        """May be done again, after a kill or a failure: nothing is there twice."""


class ClientChildren:
    """By the client, as a server wants it: four calls a trial."""

    def __init__(self, tracking: Tracking, study: str) -> None:
        self._tracking, self._study = tracking, study

    def find(self) -> dict[str, Child]:
        found = {}
        for run in search(self._tracking, f"tags.`{RUN_TAG}` = '{self._study}'"):
            tags = run.data.tags
            if tags[TRIAL_TAG]:
                found[tags[TRIAL_TAG]] = Child(
                    id=run.info.run_id,
                    status=tags[STATUS_TAG],
                    has_params=bool(run.data.params),
                    parent=tags.get(PARENT_TAG),
                )
        return found

    def write(self, changes: Sequence[ChildUpdate], made: Made) -> None:
        for change in changes:
            self._write(change, made)

    def _write(self, change: ChildUpdate, made: Made) -> None:
        client, child = self._tracking.client, change.child
        if child is None:
            child = self._create(change)
            made(change.trial, child)
        if change.files is not None:
            client.log_artifacts(child, str(change.files), HEAD)
        log(self._tracking, child, metrics=change.metrics, params=change.params, tags=change.last_tags)
        if change.status is not None:
            client.set_terminated(child, status=change.status, end_time=change.ended)

    def _create(self, change: ChildUpdate) -> str:
        created = self._tracking.client.create_run(
            self._tracking.experiment, start_time=change.begun, run_name=change.trial, tags=dict(change.tags)
        )
        return str(created.info.run_id)


def search(tracking: Tracking, query: str) -> Iterator[Any]:
    token = None
    while True:
        page = tracking.client.search_runs([tracking.experiment], query, max_results=PAGE, page_token=token)
        yield from page
        token = page.token
        if not token:
            return


def log(
    tracking: Tracking,
    run: str,
    *,
    metrics: Iterable[Any] = (),
    params: Mapping[str, Any] | None = None,
    tags: Mapping[str, str] | None = None,
) -> None:
    """In one call, where it takes so many; tags with the last."""
    from mlflow.entities import Param, RunTag

    calls = _calls(
        list(metrics),
        [Param(name, value) for name, value in plain_params(params or {}).items()],
        [RunTag(name, value[:VALUE_LIMIT]) for name, value in (tags or {}).items()],
    )
    for call in calls:
        tracking.client.log_batch(run, **call)


def plain_params(params: Mapping[str, Any]) -> dict[str, str]:
    return {parameter_name(name): str(value)[:VALUE_LIMIT] for name, value in params.items()}


def _calls(metrics: list[Any], params: list[Any], tags: list[Any]) -> list[dict[str, list[Any]]]:
    """What MLflow takes at once: 100 parameters, and 1000 of all."""
    count = max(ceil(len(metrics) / METRICS), ceil(len(params) / PARAMS))
    calls = [
        {
            "metrics": metrics[n * METRICS : (n + 1) * METRICS],
            "params": params[n * PARAMS : (n + 1) * PARAMS],
        }
        for n in range(count)
    ]
    if tags:
        calls = calls or [{}]
        calls[-1]["tags"] = tags
    return calls
