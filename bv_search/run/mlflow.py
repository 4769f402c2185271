"""A run's mirror in MLflow: a parent run per study, a child run per trial, written in batches by the driver.

The journal is the truth and this is a copy: `sync` brings the copy up to date, however often it is called and
whatever an earlier process had already written.
"""

import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import takewhile
from typing import Any, Self

from bv_search.errors import RunError, UserError
from bv_search.run.folder import ENSEMBLE, LEADERBOARD, REPORT_HTML, REPORT_MD, STUDY, Run
from bv_search.run.leaderboard import best, flat
from bv_search.run.mirror_process import MirrorProcess
from bv_search.run.mlflow_children import (
    PARENT_TAG,
    RUN_TAG,
    STATUS_TAG,
    TRIAL_TAG,
    Child,
    Children,
    ChildUpdate,
    ClientChildren,
    log,
    search,
)
from bv_search.run.mlflow_database import DatabaseChildren, has_known_tables
from bv_search.run.mlflow_watch import MlflowWatch
from bv_search.run.points import (
    curve_metrics,
    final_metrics,
    metrics_of,
    milliseconds,
    study_params,
)
from bv_search.run.tracking import Tracking, connect, reaching, without_password
from bv_search.run.trial import DONE, FAILED, RUNNING, STOPPED, TrialRecord, replay

RUNG_TAG = "bv.rung"  # of a trial that no search proposed
OF_TAG = "bv.of"  # the trial that one was made of
PARENT_FILES = (STUDY, LEADERBOARD, ENSEMBLE, REPORT_HTML, REPORT_MD)
GOING, BROKEN_OFF = "RUNNING", "KILLED"  # MLflow's words
PORTION = 100  # trials that are written together
LINES = 100  # of the journal that are read together, of a pack each
LAST_SECONDS = 1.0  # for an MLflow that was away, at the end of a search


def open_mirror(run: Run, tell: Callable[[str], None]) -> "MlflowMirror | None":
    """For what is done after a search: the result stands, whether MLflow can be reached or not."""
    try:
        return MlflowMirror(run)
    except UserError as error:
        tell(f"not in MLflow: {error}")
        return None


class MlflowMirror:
    """Connects at once, so that a wrong address is told before any work; later failures stop no search."""

    def __init__(self, run: Run, tracking_uri: str | None = None) -> None:
        self._run = run
        self._tracking = connect(run.path.resolve().parent, task=run.study.task_name, uri=tracking_uri)
        self.trouble: str | None = None  # the last failure, cleared by the next success
        self._records: dict[str, TrialRecord] = {}  # as far as the journal has been read
        self._read = 0  # bytes of it
        self._behind: set[str] = set()  # trials that MLflow does not know all of
        self._process: MirrorProcess | None = None  # that has been handed the work
        self._watch = MlflowWatch(self.uri)
        with reaching(self.uri):
            self._trials = self._open_children()
            self._children = self._trials.find()
            found = self._find_parent()
            self.parent_id = self._create_parent() if found is None else str(found.info.run_id)
            if found is None or not found.data.params:
                log(self._tracking, self.parent_id, params=study_params(run))
            self._status = GOING if found is None else str(found.info.status)
            self._adopt()

    def _open_children(self) -> Children:
        study, database = self._run.study.id, self._tracking.database
        if database is not None and has_known_tables(database):
            return DatabaseChildren(database, self._tracking.experiment, study)
        return ClientChildren(self._tracking, study)

    def _adopt(self) -> None:
        """What stands under a parent that somebody has deleted."""
        for child in self._children.values():
            if child.parent != self.parent_id:
                self._tracking.client.set_tag(child.id, PARENT_TAG, self.parent_id)

    @property
    def uri(self) -> str:
        return self._tracking.uri

    @property
    def tracking(self) -> Tracking:
        return self._tracking

    @property
    def ui_command(self) -> str:
        """What to type to look at it."""
        uri = shlex.quote(without_password(self.uri))
        return f"open {uri}" if self.uri.startswith("http") else f"mlflow ui --backend-store-uri {uri}"

    @property
    def ui_page(self) -> str:
        """Where the runs are then: MLflow's first page is about chats."""
        server = without_password(self.uri) if self.uri.startswith("http") else "http://127.0.0.1:5000"
        return f"{server}/#/experiments/{self._tracking.experiment}/runs"

    def sync(self, *, patience: float = 0.0, goes_on: Callable[[], bool] = lambda: True) -> bool:
        """Copy what the journal has and MLflow has not; False means that a later call tries again.

        It waits for an MLflow that is away once. From then on somebody else looks whether it is back.
        """
        if self._process is not None:
            return True
        if self.trouble is not None and not self._watch.sees(patience):
            return False
        try:
            with reaching(self.uri):
                if self.trouble is not None:
                    self._children = self._still_there()
                for records in takewhile(lambda _: goes_on(), self._portions()):
                    self._sync_trials(records)
        except RunError as error:
            self.trouble = str(error)
            return False
        self.trouble = None
        return True

    def _still_there(self) -> dict[str, Child]:
        """A child may have been made, and the answer lost; or somebody has deleted one."""
        known = {child.id: child for child in self._children.values()}
        return {trial: known.get(child.id, child) for trial, child in self._trials.find().items()}

    def hand_over(self) -> None:
        """From now on until `close` a process of its own does the work of `sync`."""
        self._process = self._process or MirrorProcess(self._run.path)

    def _take_back(self) -> None:
        if self._process is not None:
            self._process.stop()
            self._process = None
            with reaching(self.uri):
                self._children = self._trials.find()

    def _portions(self) -> Iterator[Sequence[TrialRecord]]:
        """Trials of which the journal says more than MLflow knows: it is read on as they are written."""
        read = -1
        while read != self._read:
            read, records = self._read, self._read_on()
            yield from (records[n : n + PORTION] for n in range(0, len(records), PORTION))

    def _read_on(self) -> list[TrialRecord]:
        events, self._read = self._run.journal.read_on(self._read, LINES)
        now = replay(events, encoder_parameters=self._run.study.encoder_parameters, before=self._records)
        self._behind |= {name for name, record in now.items() if record is not self._records.get(name)}
        self._records = now
        return [record for name, record in now.items() if name in self._behind]

    def close(self, status: str | None = None) -> bool:
        """Bring everything up to date, add the run's files, and leave nothing running.

        Without a status the study keeps what it ended with; a search that was killed did not set any.
        """
        try:
            self._take_back()
        except RunError as error:
            self.trouble = str(error)
        if not self.sync(patience=LAST_SECONDS):
            return False
        try:
            with reaching(self.uri):
                log(self._tracking, self.parent_id, metrics=self._study_metrics())
                self.log_files()
                for child in self._live():
                    self._tracking.client.set_terminated(child.id, status=BROKEN_OFF)
                self._status = status or self._last_status()
                self._tracking.client.set_terminated(self.parent_id, status=self._status)
        except RunError as error:
            self.trouble = str(error)
        return self.trouble is None

    @contextmanager
    def guarded(self) -> Iterator[Self]:
        """The study is running; what is broken off meanwhile does not stand in MLflow as running."""
        with reaching(self.uri):
            for run in (self.parent_id, *(child.id for child in self._live())):
                self._tracking.client.update_run(run, status=GOING)
        try:
            yield self
        except BaseException as error:
            if self.trouble is None:
                self.close(BROKEN_OFF if isinstance(error, KeyboardInterrupt) else "FAILED")
            raise
        finally:
            if self._process is not None:
                self._process.stop()

    def log_files(self) -> None:
        """Copy what the run has of its files to the parent run."""
        for path in (self._run.path / name for name in PARENT_FILES):
            if path.exists():
                self._tracking.client.log_artifact(self.parent_id, str(path))

    def child_id(self, trial: str) -> str | None:
        child = self._children.get(trial)
        return child.id if child else None

    def _live(self) -> list[Child]:
        return [child for child in self._children.values() if child.status == RUNNING]

    def _last_status(self) -> str:
        if self._status != GOING:
            return self._status
        return BROKEN_OFF if self._live() else "FINISHED"

    def _sync_trials(self, records: Sequence[TrialRecord]) -> None:
        self._trials.write([self._change(record) for record in records], self._know)
        for record in records:
            child = replace(self._children[record.id], has_params=True, status=record.status)
            self._children[record.id] = replace(child, points=len(record.curve))
            if record.finished:  # no more is asked of it, and there may be many
                self._records[record.id] = replace(record, draws=(), curve=(), files={})
            self._behind.discard(record.id)

    def _know(self, trial: str, run: str) -> None:
        self._children[trial] = Child(id=run, status=RUNNING, has_params=False, parent=self.parent_id)

    def _change(self, record: TrialRecord) -> ChildUpdate:
        child = self._children.get(record.id)
        change = ChildUpdate(
            trial=record.id,
            child=None if child is None else child.id,
            begun=milliseconds(record.suggested),
            tags={} if child else self._tags(record),
            params={} if child and child.has_params else flat(record.config),
        )
        if child is not None and child.status != RUNNING:
            return change
        points = curve_metrics(record, child.points if child else 0)
        if not record.finished:
            return replace(change, metrics=list(points))
        folder = self._run.trial_folder(record.id)
        is_head = record.status in {DONE, STOPPED}
        reason = {"bv.reason": record.reason} if record.reason else {}
        return replace(
            change,
            last_tags={STATUS_TAG: record.status} | reason,
            metrics=[*points, *final_metrics(record)],
            files=folder if is_head and folder.is_dir() else None,
            status="FINISHED" if is_head else "FAILED",
            ended=None if record.finished_at is None else milliseconds(record.finished_at),
        )

    def _tags(self, record: TrialRecord) -> dict[str, str]:
        more = {RUNG_TAG: record.rung, OF_TAG: record.of}
        return {
            PARENT_TAG: self.parent_id,
            "mlflow.runName": record.id,
            "mlflow.source.name": "bv_search",
            RUN_TAG: self._run.study.id,
            TRIAL_TAG: record.id,
            STATUS_TAG: RUNNING,
            **{tag: value for tag, value in more.items() if value is not None},
        }

    def _create_parent(self) -> str:
        study = self._run.study
        created = self._tracking.client.create_run(
            self._tracking.experiment,
            start_time=milliseconds(self._run.events()[0]["at"]),
            run_name=study.name,
            tags={
                "mlflow.source.name": "bv_search",
                RUN_TAG: study.id,
                TRIAL_TAG: "",
                "bv.folder": str(self._run.path.resolve()),
            },
        )
        return str(created.info.run_id)

    def _find_parent(self) -> Any:
        query = f"tags.`{RUN_TAG}` = '{self._run.study.id}' and tags.`{TRIAL_TAG}` = ''"
        return next(search(self._tracking, query), None)

    def _study_metrics(self) -> list[Any]:
        records = list(self._records.values())
        values: dict[str, float | None] = {
            "trials": float(sum(record.is_searched for record in records)),
            "failed": float(sum(record.status == FAILED for record in records)),
        }
        if self._run.study.baseline:
            values["encoder_score"] = self._run.study.baseline.get("report_score")
        if ranked := best(records):
            values |= {"select_score": ranked[0].score, "report_score": ranked[0].report_score}
        if ensemble := self._run.ensemble():
            values["ensemble_score"] = ensemble["score"]
        at = max([record.finished_at or record.suggested for record in records], default=0.0)
        return metrics_of(values, at=at, step=0)
