import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bv_search.errors import EncoderError, HeadError, OutputError, RunError, StoreError, UnknownName
from bv_search.files import read_signed, write_signed
from bv_search.heads.folder import read_config, read_weights_file, write_head
from bv_search.model.answer import answer_rows, answer_store
from bv_search.model.combine import Method, combine
from bv_search.model.loading import model_of_run, open_model
from bv_search.model.model import Model
from bv_search.run import Run, read_predictions
from bv_search.tasks.dataset import load_dataset
from bv_search.tasks.row import Role
from tests.model.small_run import Small, make_run


@pytest.fixture(scope="module")
def folded(small: Small, tmp_path_factory: pytest.TempPathFactory) -> Small:
    """Heads of three copies on the same store."""
    place = tmp_path_factory.mktemp("folded") / "runs" / "folded"
    return replace(small, run=make_run(small.store, place, folds=3))


@pytest.fixture
def ensemble(small: Small) -> Model:
    head, encoder = model_of_run(small.run, "0002"), model_of_run(small.run, "encoder")
    return replace(head, method=Method.MAX, members=(*head.members, *encoder.members))


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


@pytest.mark.parametrize("bundle", [False, True])
def test_a_saved_model_answers_alike(small: Small, ensemble: Model, tmp_path: Path, bundle: bool) -> None:
    rows = load_dataset(ensemble.task, str(small.data)).split("dev").rows[:12]
    expected = answer_rows(ensemble, ensemble.load_encoder(), rows).rows
    again = Model.from_pretrained(ensemble.save_pretrained(tmp_path / "model", bundle=bundle))
    assert answer_rows(again, again.load_encoder(), rows).rows == expected
    assert (again.encoder.place == str(tmp_path / "model" / "encoder")) is bundle
    assert not list(tmp_path.rglob("*.pkl")) + list(tmp_path.rglob("*.bin"))


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


def test_a_saved_model_is_never_overwritten(ensemble: Model, tmp_path: Path) -> None:
    ensemble.save_pretrained(tmp_path / "model")
    with pytest.raises(OutputError, match="already exists"):
        ensemble.save_pretrained(tmp_path / "model")


def test_another_encoder_is_refused_by_its_digest(small: Small, tiny_encoder: Path) -> None:
    with pytest.raises(EncoderError, match="is not the encoder that the hidden states are of"):
        open_model(small.run.path).load_encoder(tiny_encoder)


def test_an_encoder_that_is_gone_is_asked_for(small: Small, ensemble: Model, tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    shutil.copytree(small.stage, moved)
    gone = replace(ensemble, encoder=replace(ensemble.encoder, place=str(tmp_path / "gone")))
    with pytest.raises(EncoderError, match=r"the encoder is not there; .* say where it is with --encoder"):
        gone.load_encoder()
    assert gone.load_encoder(moved).identity.digest == ensemble.encoder.digest


def test_a_run_without_an_ensemble_answers_with_its_best_head(small: Small) -> None:
    assert open_model(small.run.path).name == small.run.finished_trials()[0].id
    assert open_model(small.run.path, member="smallest").parameters <= open_model(small.run.path).parameters


def test_a_head_taken_out_of_its_run_still_knows_its_encoder(small: Small, tmp_path: Path) -> None:
    shutil.copytree(small.run.trial_folder("0003"), tmp_path / "mine")
    model = open_model(tmp_path / "mine")
    assert (model.name, model.load_encoder().identity.digest) == ("mine", small.store.manifest.encoder.digest)


def test_members_that_do_not_exist_are_one_line(small: Small, tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="did you mean '0002'"):
        open_model(small.run.path, member="002")
    with pytest.raises(RunError, match="has no ensemble; bv-search ensemble"):
        open_model(small.run.path, member="ensemble")
    with pytest.raises(HeadError, match="is neither a run nor a head"):
        open_model(small.data)
    with pytest.raises(HeadError, match="does not exist"):
        open_model(tmp_path / "none")
    with pytest.raises(HeadError, match="chooses in a run, and this is none"):
        open_model(small.run.trial_folder("0001"), member="best")


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


def test_a_damaged_model_is_one_line(ensemble: Model, tmp_path: Path) -> None:
    folder = ensemble.save_pretrained(tmp_path / "model")
    text = (folder / "model.json").read_text()
    for broken, complaint in (
        (text.replace('"method": "max"', '"method": "median"'), "is damaged; expected digest"),
        (text[:-20], "is damaged; expected JSON"),
        (
            text.replace('"format_version": 3', '"format_version": 1'),
            "is of another version; .*save it",
        ),
    ):
        (folder / "model.json").write_text(broken)
        with pytest.raises(HeadError, match=complaint) as caught:
            Model.from_pretrained(folder)
        assert "\n" not in str(caught.value)


def test_a_model_that_names_what_is_none_is_one_line(ensemble: Model, tmp_path: Path) -> None:
    folder = ensemble.save_pretrained(tmp_path / "model")
    value = read_signed(folder / "model.json", HeadError)
    first, *others = value["members"]
    for change, complaint in (
        ({"method": "median"}, "is damaged: method; expected single"),
        ({"members": [{**first, "head": "../heads"}, *others]}, "outside its folder"),
    ):
        write_signed(folder / "model.json", value | change)
        with pytest.raises(HeadError, match=complaint):
            Model.from_pretrained(folder)


def test_members_that_changed_places_are_found(small: Small, tmp_path: Path) -> None:
    """Each is whole in itself."""
    first, second = model_of_run(small.run, "0001"), model_of_run(small.run, "0002")
    both = replace(first, method=Method.MAX, members=(*first.members, *second.members))
    folder = both.save_pretrained(tmp_path / "model")
    assert len(Model.from_pretrained(folder).members) == 2
    for old, new in (("0", "2"), ("1", "0"), ("2", "1")):
        (folder / "heads" / old).rename(folder / "heads" / new)
    with pytest.raises(HeadError, match=r"heads/0/config\.json: is damaged"):
        Model.from_pretrained(folder)


def test_trials_of_a_copied_run_are_found(run: Run) -> None:
    assert open_model(run.path, member="0003").heads[0].parameter_count() == 486


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


def test_copies_in_a_folder_of_their_own_know_their_encoder(folded: Small, tmp_path: Path) -> None:
    shutil.copytree(folded.run.trial_folder("0003"), tmp_path / "mine")
    model = open_model(tmp_path / "mine")
    assert [(member.name, len(member.heads)) for member in model.members] == [("mine", 3)]
    assert model.load_encoder().identity.digest == folded.store.manifest.encoder.digest
