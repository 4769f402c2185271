"""The run folder: runs/<name>/ and the places in it."""

import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import yaml

from bv_search.errors import OutputError, RunError
from bv_search.files import (
    DISK,
    RESTORE,
    Disk,
    confine,
    decode_at,
    digest_file,
    folder_being_made,
    home_path,
    read_signed,
    write_signed,
    write_text,
)
from bv_search.heads.folder import CONFIG_FILE, WEIGHTS_FILE
from bv_search.run.ensemble_file import ENSEMBLE_VERSION, EnsembleFile
from bv_search.run.events import check_events
from bv_search.run.front import find_front
from bv_search.run.journal import Event, Journal
from bv_search.run.leaderboard import best, write_leaderboard
from bv_search.run.lock import sole
from bv_search.run.study import Study
from bv_search.run.trial import TrialRecord, replay

JOURNAL, STUDY, LEADERBOARD, TRIALS = "journal.jsonl", "study.yaml", "leaderboard.csv", "trials"
STATES = "states"
ENSEMBLE, REPORT_HTML, REPORT_MD, LOCK = "ensemble.json", "report.html", "report.md", ".lock"
ENSEMBLE_AGAIN = "delete it, and run bv-search ensemble again"


class Run:
    """A study on disk. The journal is the truth; the rest can be made again from it and the trials."""

    def __init__(self, path: Path, study: Study) -> None:
        self.path = path
        self.study = study
        self.journal = Journal(path / JOURNAL)
        self._noted: tuple[int, dict[str, Mapping[str, str]]] = (0, {})

    @classmethod
    def create(cls, path: str | Path, study: Study, told: Iterable[Event] = ()) -> Self:
        """Make the folder, whole with its first events, or refuse."""
        path = Path(path)
        if path.exists():
            raise OutputError(
                "already exists",
                where=path,
                expected="a new run folder",
                do=f"choose another --name, or continue it with --resume {path.name}",
            )
        with folder_being_made(path) as part:
            cls.begin(part, study, told)
        return cls(path, study)

    @classmethod
    def begin(cls, folder: Path, study: Study, told: Iterable[Event] = ()) -> Self:
        """In an empty folder, which nobody else sees yet."""
        (folder / TRIALS).mkdir()
        Journal(folder / JOURNAL).append({"event": "study", "study": study.to_json()}, *told)
        write_text(folder / STUDY, _yaml(study))
        return cls(folder, study)

    @classmethod
    def open_each(cls, places: Sequence[str | Path]) -> list[Self]:
        """All of them, none twice."""
        runs = [cls.open(place) for place in places]
        folders = [run.path.resolve() for run in runs]
        for run, folder in zip(runs, folders, strict=True):
            if folders.count(folder) > 1:
                raise RunError("is named twice", where=run.path, do="name each run once")
        return runs

    @classmethod
    def open(cls, path: str | Path) -> Self:
        path = home_path(path)
        if not path.is_dir():
            raise RunError("does not exist", where=path, expected="the folder of a run")
        if not (path / JOURNAL).is_file():
            raise RunError(
                "is not a run", where=path, expected=f"a folder with {JOURNAL}", do="give the folder of a run"
            )
        events = Journal(path / JOURNAL).read()
        check_events(events, path / JOURNAL)
        studies = [event["study"] for event in events if event["event"] == "study"]
        if not studies:
            raise RunError("names no study", where=path / JOURNAL, do="start a new run")
        return cls(path, Study.from_json(studies[-1], where=path / JOURNAL))

    @property
    def name(self) -> str:
        return self.study.name

    def at(self, way: str) -> "Run":
        """The run at the end of a way from this one, as ensemble.json names those of members."""
        return self if way == "." else Run.open(self.path / way)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """One writer at a time, of all machines: a second one is told who the first is."""
        with sole(self.path / LOCK) as require:
            self.journal.guard = require
            try:
                yield
            finally:
                self.journal.guard = lambda: None

    def change_study(self, **changes: Any) -> None:
        """Note that the study goes on in another way (more trials), in the journal first."""
        self.study = replace(self.study, **changes)
        self.journal.append({"event": "study", "study": self.study.to_json()})
        write_text(self.path / STUDY, _yaml(self.study))

    def events(self) -> list[Event]:
        return self.journal.read()

    def trials(self) -> list[TrialRecord]:
        """Every trial, in the order of suggestion."""
        return list(replay(self.events(), encoder_parameters=self.study.encoder_parameters).values())

    def finished_trials(self) -> list[TrialRecord]:
        """Trials that ended with a head and its scores, best on select first; at least one, or a RunError."""
        trials = self.trials()
        ranked = best(trials)
        if not ranked:
            trials = [record for record in trials if record.is_searched]
            failed = sum(record.finished for record in trials)
            more = " --trials +N" if failed == self.study.trials else ""
            raise RunError(
                "has no finished trial",
                where=self.path,
                expected="at least one head with a score on select and report",
                found=f"{len(trials)} trials begun, {failed} failed",
                do=f"bv-search tune --resume {self.path}{more}",
            )
        return ranked

    def trial_folder(self, trial: str) -> Path:
        """Where a trial's config.json, model.safetensors and predictions are: select.parquet, report.parquet
        and, with folds, train.parquet."""
        return confine(self.path / TRIALS, trial, RunError)

    def trial_file(self, trial: str, name: str) -> Path:
        """One of these, as it was when its trial ended."""
        path = self.trial_folder(trial) / name
        check_file(path, self._files().get(trial, {}).get(name))
        return path

    def head_folder(self, trial: str) -> Path:
        """The same folder, whose head is as it was."""
        for name in (CONFIG_FILE, WEIGHTS_FILE):
            self.trial_file(trial, name)
        return self.trial_folder(trial)

    def answers_folder(self, trial: str) -> Path:
        """The same folder, whose predictions are as they were."""
        folder = self.trial_folder(trial)
        for name in {*self._files().get(trial, {}), *(path.name for path in folder.glob("*.parquet"))}:
            if name.endswith(".parquet"):
                self.trial_file(trial, name)
        return folder

    def trial_digests(self, trial: str) -> dict[str, str]:
        """Of all files that a trial has left, for the journal."""
        return {path.name: digest_file(path) for path in sorted(self.trial_folder(trial).iterdir())}

    def state_path(self, trial: str, position: int) -> Path:
        """Where a head is between two segments, and until its answers are written."""
        return self.path / STATES / f"{trial}-{position}.safetensors"

    def new_trial_folder(self, trial: str, disk: Disk = DISK) -> Path:
        """An empty place for what a trial leaves; what an interrupted attempt left is gone."""
        folder = self.trial_folder(trial)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        disk.sync_folder(folder.parent)
        return folder

    def _files(self) -> dict[str, Mapping[str, str]]:
        """Digests of what each trial left, read again where the journal has grown."""
        size = self.journal.path.stat().st_size
        if self._noted[0] != size:
            self._noted = size, {record.id: record.files for record in self.trials()}
        return self._noted[1]

    def write_leaderboard(self) -> Path:
        return write_leaderboard(self.path / LEADERBOARD, self.trials(), self.front())

    def front(self) -> list[TrialRecord] | None:
        """From the smallest head up, where the search looked for one."""
        return find_front(self.trials()) if self.study.seeks_front else None

    def seconds(self) -> dict[str, float]:
        """What the run spent, by step, summed over its sessions."""
        total: dict[str, float] = {}
        for event in self.events():
            if event["event"] == "end":
                for step, spent in event["seconds"].items():
                    total[step] = total.get(step, 0.0) + (spent or 0.0)
        return total

    def ending(self) -> str | None:
        """Why its last session ended before the last trial, if it did."""
        ends = [event for event in self.events() if event["event"] == "end" and "why" in event]
        return ends[-1].get("why") if ends else None

    @property
    def has_ended(self) -> bool:
        """Whether its last search came to its end, whatever the run is asked for since."""
        others = ("study", "end")  # of an ensemble, say
        did = [event for event in self.events() if "memory" in event or event["event"] not in others]
        return bool(did) and did[-1]["event"] == "end"

    def memory(self) -> dict[str, int]:
        """The most bytes that each kind of process took, over the run's sessions."""
        most: dict[str, int] = {}
        for event in self.events():
            if event["event"] == "end":
                for name, taken in event.get("memory", {}).items():
                    most[name] = max(taken, most.get(name, 0))
        return most

    def ensemble(self) -> dict[str, Any] | None:
        """What `ensemble` decided, if it did."""
        path = self.path / ENSEMBLE
        if not path.exists():
            return None
        value = read_signed(path, RunError, do=ENSEMBLE_AGAIN)
        if (version := value.get("format_version")) != ENSEMBLE_VERSION:
            raise RunError(
                "is of another format version",
                where=path,
                expected=ENSEMBLE_VERSION,
                found=version,
                do=f"bv-search ensemble {self.path}",
            )
        decode_at(EnsembleFile, value, RunError, where=path, do=ENSEMBLE_AGAIN, more=True)
        return value

    def write_ensemble(self, value: Mapping[str, Any]) -> Path:
        write_signed(self.path / ENSEMBLE, value)
        return self.path / ENSEMBLE

    def unconsidered(self) -> str | None:
        """A sentence where heads were added since the ensemble was chosen."""
        heads, known = len(best(self.trials())), (self.ensemble() or {}).get("heads")
        if known in (None, heads):
            return None
        return (
            f"The ensemble was chosen when the run had {known} heads; bv-search ensemble takes all {heads}."
        )


def check_file(path: Path, expected: str | None) -> None:
    """Against its digest in the journal."""
    if expected is None:
        raise RunError("is not in the journal", where=path, expected="its digest")
    if not path.is_file():
        raise RunError("does not exist", where=path, expected="what a trial leaves", do=RESTORE)
    if (found := digest_file(path)) != expected:
        raise RunError("is damaged", where=path, expected=f"digest {expected}", found=found, do=RESTORE)


def _yaml(study: Study) -> str:
    return yaml.safe_dump(study.to_json(), sort_keys=False, allow_unicode=True)
