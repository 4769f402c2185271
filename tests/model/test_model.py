import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from bv_search.errors import EncoderError, HeadError, OutputError
from bv_search.files import read_signed, write_signed
from bv_search.model.answer import answer_rows
from bv_search.model.combine import Method
from bv_search.model.loading import model_of_run, open_model
from bv_search.model.model import Model
from bv_search.tasks.dataset import load_dataset
from tests.model.small_run import Small


@pytest.mark.parametrize("bundle", [False, True])
def test_a_saved_model_answers_alike(small: Small, ensemble: Model, tmp_path: Path, bundle: bool) -> None:
    rows = load_dataset(ensemble.task, str(small.data)).split("dev").rows[:12]
    expected = answer_rows(ensemble, ensemble.load_encoder(), rows).rows
    again = Model.from_pretrained(ensemble.save_pretrained(tmp_path / "model", bundle=bundle))
    assert answer_rows(again, again.load_encoder(), rows).rows == expected
    assert (again.encoder.place == str(tmp_path / "model" / "encoder")) is bundle
    assert not list(tmp_path.rglob("*.pkl")) + list(tmp_path.rglob("*.bin"))


def test_a_model_with_other_weights_under_the_same_names_is_another(ensemble: Model, tmp_path: Path) -> None:
    again = Model.from_pretrained(ensemble.save_pretrained(tmp_path / "model"))
    assert again.is_same(ensemble)
    again.heads[0].load_state_dict({name: t + 1 for name, t in again.heads[0].state_dict().items()})
    assert not again.is_same(ensemble)
    assert not replace(ensemble, method=Method.MEAN).is_same(ensemble)


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
