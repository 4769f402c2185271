"""A head's folder is whole, or it is refused."""

from pathlib import Path

import pytest

from bv_search import files
from bv_search.errors import HeadError
from bv_search.heads.config import AdapterHead, HeadShape, PoolingHead
from bv_search.heads.folder import read_config
from bv_search.heads.head import Head

SHAPE = HeadShape(layers=4, width=8, outputs=2, per_token=True)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
def test_a_head_that_travels_alone_knows_its_digests(tmp_path: Path, name: str) -> None:
    """No flipped bit of it passes; nor the file of another head, which is whole in itself."""
    for seed in (0, 1):
        Head(AdapterHead(size=3), SHAPE).initialise(seed).save_pretrained(tmp_path / f"{seed}", trial=seed)
    path = tmp_path / "0" / name
    whole = path.read_bytes()
    for place in range(0, len(whole), 7):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(HeadError, match=name):
            Head.from_pretrained(tmp_path / "0")
    path.write_bytes((tmp_path / "1" / name).read_bytes())
    with pytest.raises(HeadError, match=r"model\.safetensors: is damaged; expected digest"):
        Head.from_pretrained(tmp_path / "0")


def test_a_config_of_before_there_were_digests_says_what_to_do(tmp_path: Path) -> None:
    Head(AdapterHead(size=3), SHAPE).initialise(0).save_pretrained(tmp_path)
    files.write_json(tmp_path / "config.json", read_config(tmp_path))
    with pytest.raises(HeadError, match=r"carries no digest; .*; make it anew, or read it with the version"):
        Head.from_pretrained(tmp_path)


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
