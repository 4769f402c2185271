"""A head is saved whole, and what does not fit is named."""

from pathlib import Path

import pytest
import torch

from bv_search import files
from bv_search.errors import HeadError, UnknownName
from bv_search.heads.config import AdapterHead, HeadShape, PoolingHead, head_from_json
from bv_search.heads.head import Head

SHAPE = HeadShape(layers=4, width=8, outputs=2, per_token=True)


def test_a_saved_head_comes_back_the_same(tmp_path: Path) -> None:
    head = Head(AdapterHead(size=3, skip=True), SHAPE).initialise(7)
    head.save_pretrained(tmp_path, task="squad2-span")

    again = Head.from_pretrained(tmp_path)

    assert again.config == head.config
    assert again.shape == SHAPE
    assert all(torch.equal(a, b) for a, b in zip(again.parameters(), head.parameters(), strict=True))


def test_the_seed_decides_the_first_weights() -> None:
    def weights(seed: int) -> torch.Tensor:
        return torch.cat(
            [p.flatten() for p in Head(AdapterHead(size=3), SHAPE).initialise(seed).parameters()]
        )

    assert torch.equal(weights(1), weights(1))
    assert not torch.equal(weights(1), weights(2))


def test_a_wrong_shape_names_the_tensor(tmp_path: Path) -> None:
    Head(AdapterHead(size=3), SHAPE).initialise(0).save_pretrained(tmp_path)
    wide = Head(AdapterHead(size=4), SHAPE).initialise(0)
    wide.save_pretrained(tmp_path / "wide")
    (tmp_path / "wide" / "model.safetensors").replace(tmp_path / "model.safetensors")

    with pytest.raises(HeadError, match=r"tensor branches\.0\.\w+ has a wrong shape; expected"):
        Head.from_pretrained(tmp_path)


def test_a_missing_and_a_surplus_tensor_are_named(tmp_path: Path) -> None:
    Head(PoolingHead(), SHAPE).initialise(0).save_pretrained(tmp_path / "learned")
    Head(PoolingHead(pooling="average"), SHAPE).initialise(0).save_pretrained(tmp_path / "average")
    learned, average = (tmp_path / name / "model.safetensors" for name in ("learned", "average"))
    swapped = learned.read_bytes()
    learned.write_bytes(average.read_bytes())
    average.write_bytes(swapped)

    with pytest.raises(HeadError, match=r"tensor branches\.0\.mix\.\w+ is missing"):
        Head.from_pretrained(tmp_path / "learned")
    with pytest.raises(HeadError, match=r"tensor branches\.0\.mix\.\w+ does not belong to average pooling"):
        Head.from_pretrained(tmp_path / "average")


def test_a_cut_file_is_refused(tmp_path: Path) -> None:
    Head(PoolingHead(), SHAPE).initialise(0).save_pretrained(tmp_path)
    weights = tmp_path / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-5])

    with pytest.raises(HeadError, match="is damaged"):
        Head.from_pretrained(tmp_path)


def test_a_folder_that_is_no_head_is_refused(tmp_path: Path) -> None:
    files.write_json(tmp_path / "config.json", {"model_type": "bert"})

    with pytest.raises(HeadError, match="is not a head's config"):
        Head.from_pretrained(tmp_path)
    with pytest.raises(HeadError, match="does not exist"):
        Head.from_pretrained(tmp_path / "nowhere")


@pytest.mark.parametrize(
    "damage", [{"head": None}, {"head": "pooling"}, {"shape": {"layers": -1, "width": 8}}, {"shape": None}]
)
def test_a_config_that_is_no_heads_is_one_line(damage: dict[str, object], tmp_path: Path) -> None:
    Head(AdapterHead(size=3), SHAPE).initialise(0).save_pretrained(str(tmp_path))
    config = files.read_json(tmp_path / "config.json", HeadError)
    files.write_json(tmp_path / "config.json", config | damage)

    with pytest.raises(HeadError, match="is not a head's config"):
        Head.from_pretrained(str(tmp_path))


def test_weights_that_are_no_numbers_or_of_another_type_are_named(tmp_path: Path) -> None:
    head = Head(AdapterHead(size=3), SHAPE).initialise(0)
    with torch.no_grad():
        head.bias_C[1] = float("nan")
    head.save_pretrained(tmp_path)
    with pytest.raises(HeadError, match="tensor bias_C has values that are no numbers"):
        Head.from_pretrained(tmp_path)

    Head(AdapterHead(size=3), SHAPE).initialise(0).double().save_pretrained(tmp_path)
    with pytest.raises(HeadError, match=r"has a wrong type; expected torch\.float32; found torch\.float64"):
        Head.from_pretrained(tmp_path)


def test_unknown_kinds_and_settings_are_named() -> None:
    with pytest.raises(UnknownName, match="did you mean 'adapter'"):
        head_from_json({"kind": "adaptor"})
    with pytest.raises(HeadError, match="no setting 'sise'"):
        head_from_json({"kind": "adapter", "sise": 3})
    with pytest.raises(HeadError, match=r"bad readout; .* found 'sum'"):
        head_from_json({"kind": "adapter", "readout": "sum"})
    with pytest.raises(HeadError, match=r"bad readout; .* found 'mean'"):
        head_from_json({"kind": "flat-adapter", "readout": "mean"})
    with pytest.raises(HeadError, match="bad size; expected 1 or more; found 0"):
        head_from_json({"kind": "adapter", "size": 0})
    with pytest.raises(HeadError, match="bad shared; expected bool; found 1"):
        head_from_json({"kind": "adapter", "shared": 1})
    with pytest.raises(HeadError, match="bad pooling"):
        head_from_json({"kind": "pooling", "pooling": "mean"})
    for channels in (-1, True, 2.0, "last", [0]):
        with pytest.raises(HeadError, match="bad channels; expected all, or a channel's number from 0 on"):
            head_from_json({"kind": "linear", "channels": channels})
