"""A model answers from a store as it does from text."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bv_search.errors import DataError, StoreError
from bv_search.heads.folder import read_config, read_weights_file, write_head
from bv_search.model.answer import answer_rows, answer_store, rows_of_texts
from bv_search.model.combine import Method, combine
from bv_search.model.loading import model_of_run, open_model
from bv_search.model.model import Model
from bv_search.run import read_predictions
from bv_search.tasks import TASKS
from bv_search.tasks.dataset import load_dataset
from bv_search.tasks.row import Role
from tests.model.small_run import Small


def test_a_head_says_of_the_store_what_its_trial_saved(small: Small) -> None:
    answers = answer_store(open_model(small.run.path, member="0002"), small.store)
    saved = read_predictions(small.run.trial_folder("0002") / "report.parquet")
    assert answers.index["id"].to_pylist() == list(saved.ids)
    for found, expected in zip(answers.logits, saved.logits, strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-6)
    (record,) = [each for each in small.run.trials() if each.id == "0002"]
    assert answers.evaluation is not None
    assert answers.evaluation.score == record.report_score


def test_rows_by_way_of_the_encoder_are_answered_as_from_the_store(small: Small, ensemble: Model) -> None:
    rows = load_dataset(ensemble.task, str(small.data)).split("dev").rows
    live = answer_rows(ensemble, ensemble.load_encoder(), rows)
    stored = answer_store(ensemble, small.store)
    by_id = dict(zip(stored.index["id"].to_pylist(), stored.logits, strict=True))
    for window, logits in zip(live.index["id"].to_pylist(), live.logits, strict=True):
        np.testing.assert_allclose(np.exp(logits), np.exp(by_id[window]), atol=2e-3)
    assert live.evaluation is not None
    assert stored.evaluation is not None
    assert live.evaluation.score == pytest.approx(stored.evaluation.score, abs=0.02)


def test_new_rows_are_encoded_in_the_precision_of_the_store(small: Small, tmp_path: Path) -> None:
    folder = shutil.copytree(small.run.trial_folder("0002"), tmp_path / "head")
    config = read_config(folder)
    write_head(folder, {**config, "precision": "bfloat16"}, read_weights_file(folder, config))
    half, full = open_model(folder), open_model(small.run.trial_folder("0002"))
    assert (half.channels.precision, full.channels.precision) == ("bfloat16", "float32")
    saved = Model.from_pretrained(half.save_pretrained(tmp_path / "model"))
    rows, encoder = load_dataset(full.task, str(small.data)).split("dev").rows[:8], full.load_encoder()
    exact, rough, again = (
        np.concatenate(answer_rows(model, encoder, rows).logits) for model in (full, half, saved)
    )
    assert not np.array_equal(rough, exact)
    np.testing.assert_allclose(rough, exact, atol=0.5)
    np.testing.assert_array_equal(again, rough)


def test_a_store_of_another_form_is_refused(small: Small) -> None:
    model = open_model(small.run.path, member="0001")
    narrow = replace(model, channels=replace(model.channels, layers=model.channels.layers[:2]))
    with pytest.raises(StoreError, match="does not fit the model: another shape"):
        answer_store(narrow, small.store)


def test_an_encoder_alone_is_a_model_too(small: Small) -> None:
    model = model_of_run(small.run, "encoder")
    assert [(member.name, member.heads) for member in model.members] == [("encoder", ())]
    answers = answer_store(model, small.store, role=Role.REPORT)
    assert answers.evaluation is not None
    assert small.store.manifest.baseline is not None
    assert answers.evaluation.score == pytest.approx(small.store.manifest.baseline.report_score)


@pytest.mark.parametrize("member", ["0001", "0002", "probe-all", "majority"])
def test_copies_say_of_the_store_what_their_trial_saved(folded: Small, member: str) -> None:
    """The mean of what they say, whose parameters are all of theirs."""
    model = open_model(folded.run.path, member=member)
    (only,) = model.members
    assert len(only.heads) == 3
    answers = answer_store(model, folded.store)
    saved = read_predictions(folded.run.trial_folder(member) / "report.parquet")
    for found, expected in zip(answers.logits, saved.logits, strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-4)
    (record,) = [each for each in folded.run.trials() if each.id == member]
    assert answers.evaluation is not None
    assert answers.evaluation.score == pytest.approx(record.report_score, abs=1e-6)
    assert model.parameters == record.parameters == 3 * only.heads[0].parameter_count()


def test_members_with_copies_and_without_answer_together(small: Small, folded: Small, tmp_path: Path) -> None:
    """Each member counts once, however many copies it has; saved and loaded, and from text, all the same."""
    ours, theirs = model_of_run(folded.run, "0002"), model_of_run(small.run, "0003")
    encoder = model_of_run(small.run, "encoder")
    both = replace(ours, method=Method.MEAN, members=(*encoder.members, *ours.members, *theirs.members))
    stored = answer_store(both, small.store)
    alone = [answer_store(each, small.store).logits for each in (encoder, ours, theirs)]
    expected = combine(Method.MEAN, alone, both.task.kind)
    for found, other in zip(stored.logits, expected, strict=True):
        np.testing.assert_allclose(found, other, atol=1e-4)

    again = Model.from_pretrained(both.save_pretrained(tmp_path / "model"))
    assert [len(member.heads) for member in again.members] == [0, 3, 1]
    assert again.parameters == both.parameters
    rows = load_dataset(both.task, str(small.data)).split("dev").rows
    live = answer_rows(again, again.load_encoder(), rows)
    by_id = dict(zip(stored.index["id"].to_pylist(), stored.logits, strict=True))
    for window, logits in zip(live.index["id"].to_pylist(), live.logits, strict=True):
        np.testing.assert_allclose(np.exp(logits), np.exp(by_id[window]), atol=2e-3)


def test_one_text_alone_is_not_a_list_of_texts() -> None:
    with pytest.raises(DataError, match="texts: is one text; expected a list of texts"):
        rows_of_texts(TASKS["sst2"], "a good film")
    with pytest.raises(DataError, match="text 0: is no row of the task"):
        rows_of_texts(TASKS["sst2"], [None])  # type: ignore[list-item]
