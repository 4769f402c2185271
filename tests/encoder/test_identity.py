import json
import shutil
from pathlib import Path

import pytest
from safetensors.torch import load_file, save_file

from bv_search.encoder.identity import digest_weights, identify
from bv_search.encoder.location import locate_encoder
from bv_search.errors import EncoderError


def test_the_same_weights_elsewhere_are_the_same_encoder(encoder_folder: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(encoder_folder, tmp_path / "copy")
    assert identify(locate_encoder(copy)).digest == identify(locate_encoder(encoder_folder)).digest


def test_one_changed_weight_is_another_encoder(encoder_folder: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(encoder_folder, tmp_path / "copy")
    weights = load_file(copy / "model.safetensors")
    weights["pooler.dense.bias"][0] += 1
    save_file(weights, copy / "model.safetensors", metadata={"format": "pt"})
    assert digest_weights(copy) != digest_weights(encoder_folder)


def test_a_folder_without_weights_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EncoderError, match=r"has no weights; expected model.safetensors"):
        digest_weights(tmp_path)


def test_pickled_weights_are_never_opened(tmp_path: Path) -> None:
    (tmp_path / "pytorch_model.bin").write_bytes(b"\x80")
    with pytest.raises(EncoderError, match=r"pytorch_model.bin, a pickle, which is never opened"):
        digest_weights(tmp_path)


def test_an_absent_shard_is_named(tmp_path: Path) -> None:
    index = {"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    (tmp_path / "model-1.safetensors").touch()
    with pytest.raises(EncoderError, match=r"incomplete.*found no model-2.safetensors"):
        digest_weights(tmp_path)
