"""The encoder of hidden states is known by its digest, wherever it is."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bv_search.encoder.identity import digest_weights
from bv_search.errors import EncoderError
from bv_search.source.reference import EncoderReference
from bv_search.store.manifest import EncoderEntry


@pytest.fixture
def reference(tiny_encoder: Path) -> EncoderReference:
    digest = digest_weights(tiny_encoder)
    return EncoderReference(id="tiny", revision="1", digest=digest, place=str(tiny_encoder))


def test_it_is_where_its_stage_was_or_else_where_its_name_leads() -> None:
    entry = EncoderEntry(id="bert", revision="1", digest="xxh3:0", parameters=10)
    assert EncoderReference.of(entry).place == "bert@1"
    assert EncoderReference.of(replace(entry, id="./bert", revision=None)).place == "./bert"
    assert EncoderReference.of(replace(entry, stage="stages/0.3")).place == "stages/0.3"


@pytest.mark.parametrize(
    ("more", "place"),
    [
        ({}, "bert"),
        ({"revision": "1"}, "bert@1"),
        ({"revision": "1", "place": "bert"}, "bert@1"),
        ({"revision": "1", "stage": "stages/1"}, "stages/1"),
        ({"stage": "stages/1"}, "stages/1"),
        ({"stage": "stages/1", "place": "here"}, "here"),
    ],
)
def test_it_is_read_from_a_manifest_or_a_saved_model(more: dict[str, Any], place: str) -> None:
    value = {"id": "bert", "revision": None, "digest": "xxh3:0", "parameters": 10, **more}
    found = EncoderReference.from_json(value)
    assert (found.id, found.digest, found.place) == ("bert", "xxh3:0", place)
    assert EncoderReference.from_json(json.loads(json.dumps(found.to_json()))) == found


@pytest.mark.parametrize("change", [{"id": ""}, {"digest": None}, {"revision": 3}, {"place": ""}])
def test_what_names_no_encoder_is_refused(change: dict[str, Any]) -> None:
    value = {"id": "bert", "revision": None, "digest": "xxh3:0"}
    with pytest.raises(EncoderError, match=r"config\.json: names no encoder"):
        EncoderReference.from_json(value | change, where="config.json")


def test_it_is_found_in_its_place_and_in_another(reference: EncoderReference, tmp_path: Path) -> None:
    assert reference.find() == Path(reference.place)
    copy = shutil.copytree(reference.place, tmp_path / "copy")
    assert reference.find(copy) == copy
    assert reference.load(copy, device="cpu").identity.digest == reference.digest


def test_another_encoder_in_its_place_is_refused(reference: EncoderReference) -> None:
    other = replace(reference, digest="xxh3:0")
    with pytest.raises(
        EncoderError, match=r"is not the encoder that .*; expected digest xxh3:0; .*; ask Ada"
    ):
        other.find(do="ask Ada")


def test_where_it_is_gone_it_is_said_which_one_and_what_to_do(
    reference: EncoderReference, tmp_path: Path
) -> None:
    gone = replace(reference, place=str(tmp_path / "gone"))
    with pytest.raises(EncoderError, match=r"gone: the encoder is not there; .*xxh3:.*; put it back"):
        gone.find()
    with pytest.raises(EncoderError, match=r"elsewhere: no such encoder folder"):
        gone.find(tmp_path / "elsewhere")
