import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bv_search.command import Progress, main
from bv_search.ensemble.__main__ import COMMAND
from bv_search.ensemble.candidates import find_candidates, find_choosers
from bv_search.ensemble.config import EnsembleConfig
from bv_search.ensemble.ensemble import run as decide
from bv_search.errors import RunError, StoreError
from bv_search.files import read_signed
from bv_search.model.combine import Method
from bv_search.model.loading import open_model
from bv_search.model.standings import compare_ladder
from bv_search.predict.__main__ import COMMAND as PREDICT
from bv_search.run import Run, Study, read_predictions, write_predictions
from bv_search.run.roles import encoder_logits, open_store, role_ids
from bv_search.scan.store_view import role_index
from bv_search.tasks.row import Role
from tests.model.small_run import Small, bag, gold_logits, make_run, note_files, teach
from tests.stores import make_class_store

QUIET = Progress(quiet=True)


def ask(*runs: Run, **more: Any) -> EnsembleConfig:
    return EnsembleConfig(runs=tuple(str(run.path) for run in runs), mlflow=False, **more)


@pytest.fixture
def split_minds(small: Small, run: Run) -> Run:
    """Three heads that each know other answers, so that together they know more than any alone."""
    for seed, trial in enumerate(("0001", "0002", "0003")):
        teach(small, run, trial, 0.6, seed)
    return run


def test_minds_that_complement_each_other_win_and_the_report_says_by_how_much(split_minds: Run) -> None:
    result = decide(ask(split_minds), QUIET)
    value = read_signed(split_minds.path / "ensemble.json", RunError)
    assert value == json.loads(json.dumps(result.to_json()))
    assert len(value["members"]) > 1
    assert value["score"] > value["best_single"] > 0
    assert value["interval"][0] <= value["score"] <= value["interval"][1]
    against = value["compared"]["best_single"]
    assert against["delta"] == pytest.approx(value["score"] - value["best_single"])
    assert against["delta_interval"][0] > 0
    assert "better than" in result.text()
    assert "the ensemble is a gain: +" in result.text()
    assert split_minds.seconds()["ensemble"] > 0


def test_it_is_compared_with_the_best_of_the_ladder(split_minds: Run, small: Small) -> None:
    result = decide(ask(split_minds), QUIET)
    highest = compare_ladder(split_minds, small.store).highest
    assert highest is not None
    said = result.to_json()["compared"]["ladder"]
    assert (said["rung"], said["name"], said["score"]) == (highest.role, highest.title, highest.score)
    assert said["delta"] == pytest.approx(result.evaluation.score - highest.score)
    assert said["delta_interval"][0] > 0
    assert said["verdict"] == "better"


def test_an_ensemble_that_a_probe_equals_is_no_gain(split_minds: Run, small: Small) -> None:
    teach(small, split_minds, "probe-1", 1.0)
    text = decide(ask(split_minds), QUIET).text()
    assert "probe-1 is the best of the ladder: nothing that was searched did better there" in text
    assert "is a gain" not in text


def test_the_choice_never_looks_at_report(split_minds: Run, small: Small) -> None:
    before = decide(ask(split_minds), QUIET)
    for trial in ("0001", "0002", "0003"):
        nonsense = gold_logits(small, Role.REPORT, 0.0, 9)
        path = split_minds.trial_folder(trial) / "report.parquet"
        write_predictions(path, role_ids(small.store, Role.REPORT), nonsense)
        note_files(split_minds, trial)
    after = decide(ask(split_minds), QUIET)
    assert (after.selection, after.members) == (before.selection, before.members)
    assert after.evaluation.score != before.evaluation.score


def test_the_run_then_answers_with_its_ensemble(split_minds: Run) -> None:
    result = decide(ask(split_minds), QUIET)
    model = open_model(split_minds.path)
    assert model.name == "ensemble"
    assert [member.name for member in model.members] == [member["name"] for member in result.members]
    assert model.method == result.selection.method


def test_heads_that_come_later_are_not_silently_left_out(
    split_minds: Run, capfd: pytest.CaptureFixture[str]
) -> None:
    decide(ask(split_minds), QUIET)
    assert split_minds.unconsidered() is None
    heads = len(split_minds.finished_trials())
    late = {"trial": "late", "score": 0.1, "parameters": 1, "report": {"score": 0.1, "interval": [0.0, 0.2]}}
    split_minds.journal.append({"event": "suggest", "trial": "late", "config": {}})
    split_minds.journal.append({"event": "finish", "status": "done", **late})

    sentence = f"chosen when the run had {heads} heads; bv-search ensemble takes all {heads + 1}"
    assert sentence in (split_minds.unconsidered() or "")
    assert main(PREDICT, [str(split_minds.path)]) == 0
    assert sentence in capfd.readouterr().err


def test_what_a_trial_became_joins_once_with_what_the_trial_said_of_select(
    split_minds: Run, small: Small
) -> None:
    """Three of one mind would fill the places of others."""
    for trial in ("0001", "0002"):
        bag(split_minds, trial)
    found = find_candidates([split_minds], small.store, limit=3)
    assert {each.name for each in found} == {"0001-bagged", "0002-bagged", "0003", "encoder"}
    said = read_predictions(split_minds.trial_folder("0001") / "select.parquet").logits
    bagged = next(each for each in found if each.name == "0001-bagged")
    for ours, theirs in zip(bagged.choosing(find_choosers(found, small.store)), said, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    result = decide(ask(split_minds), QUIET)
    assert {"0001-bagged", "0002-bagged"} & {member["name"] for member in result.members}
    assert not {"0001", "0002", "0001-single"} & {member["name"] for member in result.members}
    open_model(split_minds.path, member="0001-bagged")


@pytest.mark.parametrize("method", [Method.MAX, Method.MEAN, Method.GREEDY])
def test_each_method_can_be_asked_for(split_minds: Run, method: Method) -> None:
    result = decide(ask(split_minds, method=method), QUIET)
    assert result.selection.method in {method, Method.SINGLE}
    assert result.selection.score >= max(record.score or 0 for record in split_minds.trials())


def test_heads_of_two_runs_on_one_store_may_join(split_minds: Run, small: Small, tmp_path: Path) -> None:
    other = make_run(small.store, tmp_path / "runs" / "second")
    for role in (Role.SELECT, Role.REPORT):
        write_predictions(
            other.trial_folder("0001") / f"{role}.parquet",
            role_ids(small.store, role),
            gold_logits(small, role, 1.0, 0),
        )
    note_files(other, "0001", score=0.99)
    result = decide(ask(split_minds, other), QUIET)
    assert {"name": "second/0001", "run": "../second", "trial": "0001", "weight": 1.0} in result.members
    assert not (other.path / "ensemble.json").exists()
    assert open_model(split_minds.path).members[0].name == "second/0001"


def test_what_cannot_be_judged_together_is_refused(
    small: Small, run: Run, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    study = {key: value for key, value in run.study.to_json().items() if key != "id"}
    elsewhere = Run.create(tmp_path / "elsewhere", Study(**{**study, "store_digest": "xxh3:1"}))
    another = Run.create(tmp_path / "another", Study(**{**study, "task": {"name": "sst2"}}))
    empty = Run.create(tmp_path / "empty", Study(**study))
    for runs, complaint in (
        ([run, elsewhere], "is on another store than"),
        ([run, another], "is on another task than"),
        ([run, run], "is named twice"),
        ([empty], "has no finished trial"),
    ):
        with pytest.raises(RunError, match=complaint):
            decide(ask(*runs), QUIET)
    assert main(COMMAND, [str(tmp_path / "none")]) == 2
    assert main(COMMAND, [str(small.data)]) == 2
    lines = capfd.readouterr().err.strip().splitlines()
    assert [line.split(": ", 2)[2].split(";")[0] for line in lines] == ["does not exist", "is not a run"]
    assert not (run.path / "ensemble.json").exists()


def test_a_store_that_has_changed_is_refused(run: Run) -> None:
    run.change_study(store_digest="xxh3:other")
    with pytest.raises(StoreError, match="is not the store that run first was made on"):
        open_store(run)


def test_data_that_the_store_was_not_made_of_is_refused(small: Small, run: Run) -> None:
    assert decide(ask(run, data=str(small.data)), QUIET).run.path == run.path
    with pytest.raises(StoreError, match="was made of other data"):
        decide(ask(run, data=str(small.data / "dev.json")), QUIET)


def test_damaged_predictions_leave_what_was_decided_before(split_minds: Run) -> None:
    decide(ask(split_minds), QUIET)
    before = (split_minds.path / "ensemble.json").read_bytes()
    path = split_minds.trial_folder("0002") / "select.parquet"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(RunError, match="is damaged"):
        decide(ask(split_minds), QUIET)
    assert (split_minds.path / "ensemble.json").read_bytes() == before


def test_the_command_prints_json_and_mirrors_into_mlflow(
    split_minds: Run, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(COMMAND, [str(split_minds.path), "--json", "--quiet"]) == 0
    out, err = capfd.readouterr()
    value = json.loads(out.splitlines()[-1])
    assert value.keys() >= {"run", "method", "members", "score", "interval", "best_single", "baseline"}
    assert value["model"] == "models:/bv_search-squad2-span/1"
    assert err == ""


def test_the_encoder_of_a_store_has_its_own_say(small: Small) -> None:
    logits = encoder_logits(small.store, Role.REPORT)
    assert logits is not None
    saved = read_predictions(small.run.trial_folder("0001") / "report.parquet")
    assert [len(each) for each in logits] == [len(each) for each in saved.logits]
    assert replace(ask(small.run), limit=2).limit == 2


CLASSES = {
    "0001": {"head": {"kind": "pooling"}, "learning_rate": 0.01},
    "0002": {"head": {"kind": "adapter", "size": 4}, "learning_rate": 0.01},
}


@pytest.fixture(scope="module")
def folded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs on a store whose encoder knows 30 windows of train: one in folds, one without."""
    place = tmp_path_factory.mktemp("folded")
    store = make_class_store(place / "store", windows=100, seen={"train": 30})
    make_run(store, place / "runs" / "folds", CLASSES, folds=3)
    make_run(store, place / "runs" / "whole", CLASSES)
    return place


@pytest.fixture
def folds(folded: Path, tmp_path: Path) -> Run:
    shutil.copytree(folded, tmp_path, dirs_exist_ok=True)
    return Run.open(tmp_path / "runs" / "folds")


def lie(run: Run, trial: str, role: Role, right: float) -> None:
    """Have a head be sure, of some rows rightly."""
    store = open_store(run)
    said = read_predictions(run.trial_folder(trial) / f"{role}.parquet").ids
    labels = dict(zip(*role_index(store, role, ["id", "label"]).to_pydict().values(), strict=True))
    rng = np.random.default_rng(0)
    truths = [
        int(labels[window][0]) if rng.random() < right else 1 - int(labels[window][0]) for window in said
    ]
    write_predictions(run.trial_folder(trial) / f"{role}.parquet", said, 3.0 * np.eye(2)[truths])
    note_files(run, trial)


def hush(run: Run) -> None:
    """Have all heads be right of half the rows."""
    for record in run.finished_trials():
        for role in (Role.SELECT, Role.TRAIN):
            if (run.trial_folder(record.id) / f"{role}.parquet").exists():
                lie(run, record.id, role, 0.5)


def test_with_folds_all_rows_that_nobody_knows_choose(folds: Run) -> None:
    result = decide(ask(folds), QUIET)
    value = json.loads((folds.path / "ensemble.json").read_text())
    assert value["chosen_on"] == {"rows": 70 + 48, "out_of_fold": True}
    assert "chosen on 118 rows out of fold: " in result.text()


def test_heads_without_folds_are_known_to_choose_by_select_alone(folds: Run) -> None:
    whole = Run.open(folds.path.parent / "whole")
    assert decide(ask(whole), QUIET).to_json()["chosen_on"] == {"rows": 48, "out_of_fold": False}
    result = decide(ask(folds, whole), QUIET)
    assert "chosen on 48 rows of select: " in result.text()


def test_what_is_said_of_train_decides(folds: Run) -> None:
    """A head that is right on select and wrong on train is none to begin with."""
    hush(folds)
    lie(folds, "0001", Role.SELECT, 1.0)
    lie(folds, "0001", Role.TRAIN, 0.0)
    lie(folds, "0002", Role.SELECT, 0.8)
    lie(folds, "0002", Role.TRAIN, 1.0)
    assert "0001" not in {member["name"] for member in decide(ask(folds), QUIET).members}
    (folds.trial_folder("0001") / "train.parquet").unlink()
    note_files(folds, "0001")
    assert "0001" in {member["name"] for member in decide(ask(folds), QUIET).members}


def test_heads_of_several_runs_stand_in_the_order_of_what_they_score_on_the_rows_they_share(
    folds: Run,
) -> None:
    """Whatever each was told by rows of its own."""
    whole = Run.open(folds.path.parent / "whole")
    hush(folds)
    lie(whole, "0002", Role.SELECT, 1.0)
    note_files(whole, "0002", score=2.0)
    note_files(folds, "0001", score=2.1)
    result = decide(ask(folds, whole, limit=1), QUIET)
    assert result.best_single.name == "whole/0002"
    assert result.selection.members[0] == (0, 1.0)


def test_the_best_single_model_may_be_the_encoder(folds: Run) -> None:
    for record in folds.finished_trials():
        lie(folds, record.id, Role.SELECT, 0.0)
        lie(folds, record.id, Role.TRAIN, 0.0)
    assert decide(ask(folds), QUIET).best_single.name == "encoder"


def test_an_ensemble_of_another_version_is_refused(folds: Run) -> None:
    decide(ask(folds), QUIET)
    value = folds.ensemble()
    assert value is not None
    folds.write_ensemble({**value, "format_version": 1})
    with pytest.raises(RunError, match="is of another format version"):
        folds.ensemble()
    decide(ask(folds), QUIET)
    assert folds.ensemble() == value
