"""The run folder: runs/<name>/ and the places in it."""

import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from bv_search.errors import OutputError, RunError
from bv_search.files import confine, folder_being_made, read_json, write_json, write_text
from bv_search.run.front import find_front
from bv_search.run.journal import Event, Journal
from bv_search.run.leaderboard import best, write_leaderboard
from bv_search.run.lock import exclusive
from bv_search.run.study import Study
from bv_search.run.trial import TrialRecord, fold

JOURNAL, STUDY, LEADERBOARD, TRIALS = "journal.jsonl", "study.yaml", "leaderboard.csv", "trials"
ENSEMBLE, REPORT_HTML, REPORT_MD, LOCK = "ensemble.json", "report.html", "report.md", ".lock"


class Run:
    """A study on disk. The journal is the truth; the rest can be made again from it and the trials."""

    def __init__(self, path: Path, study: Study) -> None:
        self.path = path
        self.study = study
        self.journal = Journal(path / JOURNAL)

    @classmethod
    def create(cls, path: str | Path, study: Study, told: Iterable[Event] = ()) -> "Run":
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
            (part / TRIALS).mkdir()
            Journal(part / JOURNAL).append({"event": "study", "study": study.to_json()}, *told)
            write_text(part / STUDY, _yaml(study))
        return cls(path, study)

    @classmethod
    def open(cls, path: str | Path) -> "Run":
        path = Path(path)
        if not path.is_dir():
            raise RunError("does not exist", where=path, expected="the folder of a run")
        if not (path / JOURNAL).is_file():
            raise RunError(
                "is not a run", where=path, expected=f"a folder with {JOURNAL}", do="give the folder of a run"
            )
        studies = [event["study"] for event in Journal(path / JOURNAL).read() if event["event"] == "study"]
        if not studies:
            raise RunError("names no study", where=path / JOURNAL, do="start a new run")
        return cls(path, Study.from_json(studies[-1], where=path / JOURNAL))

    @property
    def name(self) -> str:
        return self.study.name

    @contextmanager
    def writing(self) -> Iterator[None]:
        """One writer at a time: a second one is told who the first is."""
        with exclusive(self.path / LOCK, wait=False):
            yield

    def change_study(self, **changes: Any) -> None:
        """Note that the study goes on in another way (more trials), in the journal first."""
        self.study = replace(self.study, **changes)
        self.journal.append({"event": "study", "study": self.study.to_json()})
        write_text(self.path / STUDY, _yaml(self.study))

    def events(self) -> list[Event]:
        return self.journal.read()

    def trials(self) -> list[TrialRecord]:
        """Every trial, in the order of suggestion."""
        return list(fold(self.events(), encoder_parameters=self.study.encoder_parameters).values())

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
        """Where a trial's config.json, model.safetensors, select.parquet and report.parquet are."""
        return confine(self.path / TRIALS, trial, RunError)

    def new_trial_folder(self, trial: str) -> Path:
        """An empty place for what a trial leaves; what an interrupted attempt left is gone."""
        folder = self.trial_folder(trial)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        return folder

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
        ends = [event for event in self.events() if event["event"] == "end"]
        return ends[-1].get("why") if ends else None

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
        return read_json(path, RunError) if path.exists() else None

    def write_ensemble(self, value: Mapping[str, Any]) -> Path:
        write_json(self.path / ENSEMBLE, dict(value))
        return self.path / ENSEMBLE

    def unconsidered(self) -> str | None:
        """A sentence where heads were added since the ensemble was chosen."""
        heads, known = len(best(self.trials())), (self.ensemble() or {}).get("heads")
        if known in (None, heads):
            return None
        return (
            f"The ensemble was chosen when the run had {known} heads; bv-search ensemble takes all {heads}."
        )


def _yaml(study: Study) -> str:
    return yaml.safe_dump(study.to_json(), sort_keys=False, allow_unicode=True)
