"""Copies of a head stand in one folder, and come back each for itself."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import load

from bv_search import files
from bv_search.errors import HeadError
from bv_search.heads.config import AdapterHead, HeadShape
from bv_search.heads.copies import count_all, join_tensors, load_heads, part_tensors, save_heads
from bv_search.heads.folder import read_config, read_weights_file, write_head
from bv_search.heads.head import Head
from bv_search.heads.inputs import Standard

SHAPE = HeadShape(layers=4, width=8, outputs=2, per_token=True)


def heads(copies: int) -> list[Head]:
    """On the same inputs, as copies are."""
    standard = Standard(torch.randn(4, 8), torch.rand(4, 8))
    return [Head(AdapterHead(size=3), SHAPE, standard).initialise(n) for n in range(copies)]


@pytest.mark.parametrize("copies", [1, 3, 12])
def test_saved_copies_come_back_in_their_order(tmp_path: Path, copies: int) -> None:
    saved = heads(copies)
    save_heads(saved, tmp_path, trial="0001")

    found = load_heads(tmp_path)

    assert len(found) == copies
    for one, other in zip(found, saved, strict=True):
        assert one.config == other.config
        assert all(torch.equal(tensor, other.state_dict()[name]) for name, tensor in one.state_dict().items())
    assert len({id(head.inputs) for head in found}) == 1, "copies read the same"
    config = files.read_json(tmp_path / "config.json", HeadError)
    assert (config["copies"], config["trial"]) == (copies, "0001")


def test_one_copy_is_a_head_like_any_other(tmp_path: Path) -> None:
    (head,) = heads(1)
    head.save_pretrained(tmp_path / "head")
    save_heads([head], tmp_path / "copies")

    assert Head.from_pretrained(tmp_path / "copies").config == head.config
    (alone,) = load_heads(tmp_path / "head")
    assert torch.equal(alone.bias_C, head.bias_C)
    weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("head", "copies")]
    assert weights[0] == weights[1]


def test_several_copies_are_no_head(tmp_path: Path) -> None:
    save_heads(heads(3), tmp_path)
    with pytest.raises(HeadError, match=r"is of several copies of a head.* found 3 copies; load them with"):
        Head.from_pretrained(tmp_path)


def test_names_tell_the_copy() -> None:
    each = [head.state_dict() for head in heads(11)]
    together = join_tensors(each)
    assert {name.partition(".")[0] for name in together} == {str(n) for n in range(11)}
    again = part_tensors(together, 11)
    assert [list(own) for own in again] == [list(own) for own in each]
    assert all(torch.equal(own["bias_C"], each[n]["bias_C"]) for n, own in enumerate(again))


def test_parameters_of_all_copies_are_counted() -> None:
    assert count_all(heads(3)) == 3 * heads(1)[0].parameter_count()


@pytest.mark.parametrize("found", [0, -1, 1.0, "3", True, None])
def test_a_number_of_copies_that_is_none_is_refused(tmp_path: Path, found: object) -> None:
    save_heads(heads(2), tmp_path)
    config = read_config(tmp_path)
    write_head(tmp_path, config | {"copies": found}, read_weights_file(tmp_path, config))
    with pytest.raises(HeadError, match="is not a head's config; expected copies: 1 or more"):
        load_heads(tmp_path)


def test_a_copy_too_many_or_too_few_is_named(tmp_path: Path) -> None:
    save_heads(heads(3), tmp_path)
    config = read_config(tmp_path)
    weights = read_weights_file(tmp_path, config)
    for copies, complaint in ((2, r"tensor 2\.bias_C is of no copy"), (4, r"copy 3: tensor \S+ is missing")):
        write_head(tmp_path, config | {"copies": copies}, weights)
        with pytest.raises(HeadError, match=complaint):
            load_heads(tmp_path)
    assert len(load((tmp_path / "model.safetensors").read_bytes())) == 3 * len(heads(1)[0].state_dict())
