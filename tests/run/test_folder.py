import multiprocessing
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from bv_search.errors import OutputError, RunError
from bv_search.run import Run, Study


def test_a_new_run_reads_back_its_study(run: Run) -> None:
    assert Run.open(run.path).study == run.study
    assert yaml.safe_load((run.path / "study.yaml").read_text()) == run.study.to_json()


def test_a_run_survives_the_loss_of_everything_but_its_journal(finished_run: Run) -> None:
    before = finished_run.trials()
    (finished_run.path / "study.yaml").unlink()
    again = Run.open(finished_run.path)
    assert (again.study, again.trials()) == (finished_run.study, before)


def test_an_existing_name_is_refused_and_left_alone(
    finished_run: Run, make_study: Callable[..., Study]
) -> None:
    with pytest.raises(OutputError, match="--resume first"):
        Run.create(finished_run.path, make_study())
    assert len(Run.open(finished_run.path).trials()) == 3


def test_a_study_that_goes_on_keeps_its_identity(finished_run: Run) -> None:
    finished_run.change_study(trials=8)
    again = Run.open(finished_run.path)
    assert (again.study.trials, again.study.id) == (8, finished_run.study.id)
    assert len(again.trials()) == 3


@pytest.mark.parametrize(
    ("content", "complaint"),
    [(None, "does not exist"), ({}, "is not a run"), ({"journal.jsonl": ""}, "names no study")],
)
def test_a_folder_that_is_no_run_is_one_line(
    tmp_path: Path, content: dict[str, str] | None, complaint: str
) -> None:
    folder = tmp_path / "something"
    if content is not None:
        folder.mkdir()
        for name, text in content.items():
            (folder / name).write_text(text)
    with pytest.raises(RunError, match=complaint) as caught:
        Run.open(folder)
    assert "\n" not in str(caught.value)


def test_a_trial_cannot_leave_its_run(run: Run) -> None:
    with pytest.raises(RunError, match="outside its folder"):
        run.trial_folder("../../elsewhere")


def test_a_new_attempt_of_a_trial_finds_its_folder_empty(run: Run) -> None:
    (run.new_trial_folder("a") / "model.safetensors").write_bytes(b"half")
    assert list(run.new_trial_folder("a").iterdir()) == []


def _write(path: Path) -> None:
    try:
        with Run.open(path).writing():
            pass
    except RunError as error:
        raise SystemExit(7 if "is being written by someone else" in str(error) else 1) from error


def test_a_second_writer_is_told_who_the_first_is(run: Run) -> None:
    context = multiprocessing.get_context("fork")
    for expected, held in ((7, True), (0, False)):
        other = context.Process(target=_write, args=(run.path,))
        if held:
            with run.writing():
                other.start()
                other.join()
        else:
            other.start()
            other.join()
        assert other.exitcode == expected


def test_seconds_add_up_over_sessions(finished_run: Run) -> None:
    finished_run.journal.append({"event": "end", "seconds": {"search": 2.0, "score": None}})
    assert finished_run.seconds() == {"search": 5.0, "start": 1.0, "score": 0.0}


def test_memory_is_the_most_of_any_session(finished_run: Run) -> None:
    assert finished_run.memory() == {}
    for taken in (5, 9, 7):
        finished_run.journal.append({"event": "end", "seconds": {}, "memory": {"peak_scan_worker": taken}})
    assert finished_run.memory() == {"peak_scan_worker": 9}


def test_rungs_of_the_ladder_are_no_trials_that_are_left(run: Run) -> None:
    for trial, more in (*((each, {}) for each in "abcd"), ("majority", {"rung": "majority"})):
        run.journal.append(
            {"event": "suggest", "trial": trial, "config": {}, **more},
            {"event": "finish", "trial": trial, "status": "failed", "reason": "a bug"},
        )
    with pytest.raises(RunError, match=r"found 4 trials begun, 4 failed; .*--trials \+N"):
        run.finished_trials()


def test_a_run_without_finished_trials_says_what_to_do(run: Run) -> None:
    run.journal.append({"event": "suggest", "trial": "a", "config": {}})
    with pytest.raises(
        RunError, match=r"has no finished trial; .* found 1 trials begun, 0 failed; bv-search tune --resume"
    ):
        run.finished_trials()
