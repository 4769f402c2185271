"""A head is saved whole, and what does not fit is named."""

from pathlib import Path

import pytest
import torch

from bv_search.errors import HeadError
from bv_search.heads.config import AdapterHead, HeadShape, PoolingHead
from bv_search.heads.folder import read_config, read_weights_file, write_head
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


def take_weights(source: Path, target: Path) -> None:
    """As if they had been saved there."""
    write_head(target, read_config(target), read_weights_file(source, read_config(source)))


def test_a_wrong_shape_names_the_tensor(tmp_path: Path) -> None:
    Head(AdapterHead(size=3), SHAPE).initialise(0).save_pretrained(tmp_path)
    wide = Head(AdapterHead(size=4), SHAPE).initialise(0)
    wide.save_pretrained(tmp_path / "wide")
    take_weights(tmp_path / "wide", tmp_path)

    with pytest.raises(HeadError, match=r"tensor branches\.0\.\w+ has a wrong shape; expected"):
        Head.from_pretrained(tmp_path)


def test_a_missing_and_a_surplus_tensor_are_named(tmp_path: Path) -> None:
    Head(PoolingHead(), SHAPE).initialise(0).save_pretrained(tmp_path / "learned")
    Head(PoolingHead(pooling="average"), SHAPE).initialise(0).save_pretrained(tmp_path / "average")
    learned = read_weights_file(tmp_path / "learned", read_config(tmp_path / "learned"))
    take_weights(tmp_path / "average", tmp_path / "learned")
    write_head(tmp_path / "average", read_config(tmp_path / "average"), learned)

    with pytest.raises(HeadError, match=r"tensor branches\.0\.mix\.\w+ is missing"):
        Head.from_pretrained(tmp_path / "learned")
    with pytest.raises(HeadError, match=r"tensor branches\.0\.mix\.\w+ does not belong to average pooling"):
        Head.from_pretrained(tmp_path / "average")


@pytest.mark.parametrize(
    "damage", [{"head": None}, {"head": "pooling"}, {"shape": {"layers": -1, "width": 8}}, {"shape": None}]
)
def test_a_config_that_is_no_heads_is_one_line(damage: dict[str, object], tmp_path: Path) -> None:
    Head(AdapterHead(size=3), SHAPE).initialise(0).save_pretrained(str(tmp_path))
    config = read_config(tmp_path)
    write_head(tmp_path, config | damage, read_weights_file(tmp_path, config))

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
