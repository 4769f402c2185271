"""What a head leaves in its run is all there before its event says so."""

from typing import Any

import numpy as np
import pytest

from bv_search.heads.config import HeadShape
from bv_search.heads.folder import read_config, read_weights_file
from bv_search.run import Run, read_predictions
from bv_search.run.finals import failure, report_json, write_final
from bv_search.scan.outcome import Final, HeadLogits, RoleAnswers
from bv_search.tasks.row import Role

ABOUT = {"head": {"kind": "pooling"}, "trial": "a"}


def answers(*ids: str, draws: tuple[float, ...] = (), interval: tuple[float, float] | None) -> RoleAnswers:
    return RoleAnswers(
        ids=list(ids),
        logits=np.arange(2.0 * len(ids)).reshape(-1, 2),
        loss=0.3,
        score=0.8,
        interval=interval,
        metrics={"f1": 0.8},
        draws=draws,
    )


def final(train: HeadLogits | None = None) -> Final:
    return Final(
        trial="a",
        shape=HeadShape(layers=2, width=4, outputs=2, per_token=False),
        weights=b"weights",
        copies=1,
        parameters=10,
        report=answers("r1", "r2", interval=(0.7, 0.9)),
        select=answers("s1", draws=(1 / 3, 0.5), interval=None),
        train=train,
    )


def suggested(run: Run) -> Run:
    run.journal.append({"event": "suggest", "trial": "a", "config": {"lr": 0.1}})
    return run


def test_its_folder_holds_the_head_and_what_it_says(run: Run) -> None:
    event = write_final(suggested(run), final(), ABOUT, "done")
    folder = run.trial_folder("a")
    config = read_config(folder)
    assert (config["trial"], read_weights_file(folder, config)) == ("a", b"weights")
    for role, ids in ((Role.SELECT, ("s1",)), (Role.REPORT, ("r1", "r2"))):
        found = read_predictions(folder / f"{role}.parquet", ids=ids)
        np.testing.assert_array_equal(np.stack(found.logits), np.arange(2.0 * len(ids)).reshape(-1, 2))
    assert set(event["files"]) == {path.name for path in folder.iterdir()}
    assert "train.parquet" not in event["files"]


def test_its_event_makes_it_a_finished_trial(run: Run) -> None:
    run.journal.append(write_final(suggested(run), final(), ABOUT, "stopped"))
    (record,) = run.finished_trials()
    assert (record.status, record.score, record.loss, record.parameters) == ("stopped", 0.8, 0.3, 10)
    assert (record.report_score, record.interval, record.metrics) == (0.8, (0.7, 0.9), {"f1": 0.8})
    assert record.draws == (0.333333, 0.5), "rounded"


def test_out_of_fold_answers_are_left_where_there_are_any(run: Run) -> None:
    said = HeadLogits(ids=["t1", "t2"], logits=np.ones((2, 2)))
    event = write_final(suggested(run), final(said), ABOUT, "done")
    assert "train.parquet" in event["files"]
    assert read_predictions(run.trial_folder("a") / "train.parquet").ids == ("t1", "t2")


def test_a_failure_has_a_reason_and_no_head(run: Run) -> None:
    suggested(run).journal.append(failure("a", "diverged"))
    (record,) = run.trials()
    assert (record.status, record.reason, record.answers) == ("failed", "diverged", False)


@pytest.mark.parametrize(("interval", "said"), [(None, None), ((0.1, 0.2), [0.1, 0.2])])
def test_a_report_may_have_no_interval(interval: Any, said: Any) -> None:
    assert report_json(answers("r1", interval=interval)) == {
        "score": 0.8,
        "interval": said,
        "metrics": {"f1": 0.8},
    }
