"""A stage is what its encoder has learned up to it, whatever comes after."""

import io
import shutil
from collections.abc import Generator
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from bv_search.command import Progress
from bv_search.encoder.checkpoint import load_encoder
from bv_search.encoder.predictions import predict_logits
from bv_search.encoder.stage import read_seen
from bv_search.finetune import trainer
from bv_search.finetune.finetuning import run
from bv_search.finetune.saved_training import FOLDER
from bv_search.finetune.stage_folder import SavedStage
from bv_search.finetune.trainer import finetune
from bv_search.precision import PrecisionChoice
from bv_search.tasks.dataset import load_dataset
from bv_search.tasks.registry import find_task
from bv_search.tasks.row import Role
from tests.finetune.conftest import Configure, weights_of

QUIET = Progress(quiet=True)


def test_a_stage_says_what_its_own_predictions_score(configure: Configure) -> None:
    config = configure(fractions=(0.5, 12.0))
    first, last = run(config, QUIET)
    task = find_task("rte")
    dataset = load_dataset(task, config.data)
    encoder = load_encoder(last.path)
    for role in (Role.SELECT, Role.REPORT):
        windows = task.windows(dataset.rows(role), encoder.tokenizer)
        score = task.evaluate(windows, predict_logits(encoder, windows)).score
        assert last.stage.metrics[role]["score"] == score
    assert last.stage.metrics["report"]["score"] > 0.9, "one word gives the label away"
    assert last.stage.interval is not None
    assert last.stage.interval[0] <= last.stage.metrics["report"]["score"] <= last.stage.interval[1]
    assert 0 < first.stage.seconds < last.stage.seconds


def test_a_stage_knows_its_rows_and_they_are_rows_for_training(configure: Configure) -> None:
    config = configure(fractions=(0.0, 0.3, 1.0))
    untouched, part, whole = run(config, QUIET)
    dataset = load_dataset(find_task("rte"), config.data)
    keys = {role: {row.key for row in dataset.rows(role)} for role in Role}
    assert set(read_seen(whole.path).tolist()) == keys[Role.TRAIN]
    assert set(read_seen(part.path).tolist()) < keys[Role.TRAIN]
    assert len(read_seen(part.path)) == part.stage.rows
    assert not np.isin(read_seen(whole.path), list(keys[Role.SELECT] - keys[Role.TRAIN])).any()
    assert len(read_seen(untouched.path)) == 0


def test_a_stage_is_the_same_whatever_comes_after_it(configure: Configure, tmp_path: Path) -> None:
    along = weights_of(run(configure(), QUIET))
    alone = weights_of(run(configure(fractions=(0.3,), out=tmp_path / "alone"), QUIET))
    assert alone[0.3] == along[0.3]


def test_stage_0_is_the_encoder_as_it_was(configure: Configure, tiny_encoder: Path) -> None:
    (saved,) = run(configure(fractions=(0.0,)), QUIET)
    ours, theirs = load_encoder(saved.path), load_encoder(tiny_encoder)
    assert not ours.predicts
    assert ours.task == find_task("rte")
    ids, types = [[2, 7, 8, 3]], [[0, 0, 0, 0]]
    assert ours.encode(ids, types).hidden_LBSH.equal(theirs.encode(ids, types).hidden_LBSH)
    assert saved.stage.metrics == {}


@pytest.mark.parametrize(("change", "goes_on"), [({"checkpointing": True}, True), ({"accumulate": 2}, False)])
def test_what_was_interrupted_goes_on_with_less_memory_but_not_in_other_parts(
    configure: Configure, change: dict[str, object], *, goes_on: bool
) -> None:
    config = configure(fractions=(0.3, 1.0))
    events = finetune(config, find_task("rte"))
    (stage,) = islice((event for event in events if isinstance(event, SavedStage)), 1)
    next(events)
    assert isinstance(events, Generator)
    events.close()
    assert list((config.out / FOLDER).iterdir()), "a checkpoint follows a stage"
    shutil.rmtree(stage.path)
    told = io.StringIO()
    run(configure(fractions=(1.0,), **change), Progress(stream=told))
    assert ("going on from step" in told.getvalue()) is goes_on


def test_what_was_interrupted_goes_on_in_its_precision_whatever_the_hardware(
    configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the first stage too, which would say it."""
    config = configure(fractions=(0.3, 1.0), precision="bfloat16")
    events = finetune(config, find_task("rte"))
    (stage,) = islice((event for event in events if isinstance(event, SavedStage)), 1)
    next(events)
    assert isinstance(events, Generator)
    events.close()
    shutil.rmtree(stage.path)
    elsewhere = PrecisionChoice(precision="float32", why="other hardware")
    monkeypatch.setattr(trainer, "choose_precision", lambda *_, **__: elsewhere)
    told = io.StringIO()
    (last,) = run(configure(fractions=(1.0,)), Progress(stream=told))
    assert "going on from step" in told.getvalue()
    assert last.stage.precision == "bfloat16"
