"""Finding damage: every file of a run that is read again, against the digest that the journal has of it.

`Run.open` has read the journal, whose lines carry their own; ensemble.json carries its own too.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bv_search.errors import RunError
from bv_search.files import digest_file
from bv_search.run.folder import ENSEMBLE, Run


@dataclass(frozen=True, kw_only=True)
class RunDamage:
    file: str
    expected: str
    found: str


def count_files(run: Run) -> int:
    return sum(1 for _ in noted_files(run)) + (run.path / ENSEMBLE).exists()


def find_damage(run: Run) -> Iterator[RunDamage | None]:
    """One result per file, as it is read: its damage, or None."""
    for path, expected in noted_files(run):
        found = digest_file(path) if path.is_file() else "no file"
        name = path.relative_to(run.path).as_posix()
        yield None if found == expected else RunDamage(file=name, expected=expected, found=found)
    if (run.path / ENSEMBLE).exists():
        try:
            run.ensemble()
        except RunError as error:
            expected = str(error.expected or "an ensemble.json that can be read")
            yield RunDamage(file=ENSEMBLE, expected=expected, found=str(error.found or error.what))
        else:
            yield None


def noted_files(run: Run) -> Iterator[tuple[Path, str]]:
    """What trials left, and the heads of those that are still on their way; and their digests."""
    for record in run.trials():
        for name, digest in record.files.items():
            yield run.trial_folder(record.id) / name, digest
    for trial, (position, digest) in _states(run).items():
        yield run.state_path(trial, position), digest


def _states(run: Run) -> dict[str, tuple[int, str]]:
    states: dict[str, tuple[int, str]] = {}
    for event in run.events():
        if event["event"] == "segment":
            states[event["trial"]] = event["position"], event["state"]
        elif event["event"] == "finish":
            states.pop(event["trial"], None)
    return states
