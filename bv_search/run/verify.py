"""Finding damage: every file of a run that is read again, against the digest that the journal has of it.

`Run.open` has read the journal, whose lines carry their own; ensemble.json carries its own too.
"""

from collections.abc import Iterator
from pathlib import Path

from bv_search.command import Progress
from bv_search.errors import RunError
from bv_search.files import RESTORE, digest_file
from bv_search.run.folder import ENSEMBLE, STATES, Run
from bv_search.store.verify import Damage, Verification, gather_damage


def verify_run(run: Run, progress: Progress) -> Verification:
    total = sum(1 for _ in noted_files(run)) + (run.path / ENSEMBLE).exists()
    return Verification(
        kind="run",
        place=str(run.path),
        files=total,
        damaged=gather_damage(find_damage(run), total, progress),
        truth="journal",
        do=f"what is damaged: {RESTORE}",
    )


def find_damage(run: Run) -> Iterator[Damage | None]:
    """One result per file, as it is read: its damage, or None."""
    for path, expected in noted_files(run):
        found = _digest(path)
        name = path.relative_to(run.path).as_posix()
        is_whole = found == expected or _is_past(run, path)
        yield None if is_whole else Damage(file=name, expected=expected, found=found)
    if (run.path / ENSEMBLE).exists():
        try:
            run.ensemble()
        except RunError as error:
            expected = str(error.expected or "an ensemble.json that can be read")
            yield Damage(file=ENSEMBLE, expected=expected, found=str(error.found or error.what))
        else:
            yield None


def noted_files(run: Run) -> Iterator[tuple[Path, str]]:
    """What trials left, and the heads of those that are still on their way; and their digests."""
    for record in run.trials():
        for name, digest in record.files.items():
            yield run.trial_folder(record.id) / name, digest
    yield from _states(run).items()


def _digest(path: Path) -> str:
    try:
        return digest_file(path) if path.is_file() else "no file"
    except FileNotFoundError:  # gone since
        return "no file"


def _is_past(run: Run, path: Path) -> bool:
    """Whether it was the state of a head that a search, which is on the run now, has taken further since."""
    return path.parent == run.path / STATES and path not in _states(run)


def _states(run: Run) -> dict[Path, str]:
    """Of the heads that are on their way, and their digests."""
    states: dict[str, tuple[int, str]] = {}
    for event in run.events():
        if event["event"] == "segment":
            states[event["trial"]] = event["position"], event["state"]
        elif event["event"] == "finish":
            states.pop(event["trial"], None)
    return {run.state_path(trial, position): digest for trial, (position, digest) in states.items()}
