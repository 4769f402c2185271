"""The parts of a folder of transformers: what is missing, damaged or another's is one line."""

import json
import shutil
from pathlib import Path

import pytest
from safetensors.torch import load_file, save_file

from bv_search.encoder.checkpoint import load_encoder, load_untrained
from bv_search.encoder.location import locate_encoder
from bv_search.encoder.pretrained import LEAKY
from bv_search.errors import EncoderError
from bv_search.tasks.registry import find_task


def test_a_folder_without_weights_is_refused(encoder_folder: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(encoder_folder, tmp_path / "copy")
    (copy / "model.safetensors").unlink()
    with pytest.raises(EncoderError, match=r"copy: has no weights; expected model.safetensors"):
        load_encoder(copy)


def test_a_folder_with_half_of_its_weights_is_refused(encoder_folder: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(encoder_folder, tmp_path / "copy")
    weights = {n: w for n, w in load_file(copy / "model.safetensors").items() if "layer.1." not in n}
    save_file(weights, copy / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(EncoderError, match=r"weights do not fit config.json; expected encoder.layer.1."):
        load_encoder(copy)
    with pytest.raises(EncoderError, match=r"weights do not fit config.json"):
        load_untrained(locate_encoder(copy), find_task("mrpc"), seed=0)


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("model.safetensors", b"\x00" * 50, "its weights cannot be read"),
        ("config.json", b'{"model_type": "nothing-known"}', "config.json cannot be read"),
        ("config.json", b"{", "config.json: is damaged"),
        ("tokenizer.json", b"{", "tokenizer.json: is damaged"),
    ],
)
def test_a_damaged_file_is_one_line(
    encoder_folder: Path, tmp_path: Path, file: str, content: bytes, message: str
) -> None:
    copy = shutil.copytree(encoder_folder, tmp_path / "copy")
    (copy / file).write_bytes(content)
    with pytest.raises(EncoderError, match=message) as caught:
        load_encoder(copy)
    assert "\n" not in str(caught.value)


def test_a_config_of_another_shape_is_refused(encoder_folder: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(encoder_folder, tmp_path / "copy")
    config = json.loads((copy / "config.json").read_text()) | {"intermediate_size": 128}
    (copy / "config.json").write_text(json.dumps(config))
    with pytest.raises(EncoderError, match=r"its weights cannot be read|do not fit"):
        load_encoder(copy)
    with pytest.raises(EncoderError, match=r"do not fit config.json; expected bert.encoder.layer.0"):
        load_untrained(locate_encoder(copy), find_task("mrpc"), seed=0)


def test_the_tokenizer_of_another_encoder_is_refused(encoder_folder: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(encoder_folder, tmp_path / "copy")
    tokenizer = json.loads((copy / "tokenizer.json").read_text())
    tokenizer["model"]["vocab"]["zebra"] = 9999
    tokenizer["model"]["vocab"] |= {f"word{n}": 100 + n for n in range(100)}
    (copy / "tokenizer.json").write_text(json.dumps(tokenizer))
    with pytest.raises(EncoderError, match=r"tokenizer of another encoder; expected at most \d+ tokens"):
        load_encoder(copy)


def test_weights_that_are_cut_short_are_refused(encoder_folder: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(encoder_folder, tmp_path / "copy")
    weights = copy / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    with pytest.raises(EncoderError, match="its weights cannot be read"):
        load_encoder(copy)


def test_code_that_comes_with_a_model_is_never_run(encoder_folder: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(encoder_folder, tmp_path / "copy")
    config = json.loads((copy / "config.json").read_text())
    config |= {"model_type": "mine", "auto_map": {"AutoConfig": "mine.Config", "AutoModel": "mine.Model"}}
    (copy / "config.json").write_text(json.dumps(config))
    (copy / "mine.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    with pytest.raises(EncoderError, match=r"config.json cannot be read"):
        load_encoder(copy)
    assert not (tmp_path / "ran").exists()


def test_a_shorter_limit_of_the_tokenizer_does_not_cut_windows(encoder_folder: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(encoder_folder, tmp_path / "copy")
    settings = json.loads((copy / "tokenizer_config.json").read_text()) | {"model_max_length": 16}
    (copy / "tokenizer_config.json").write_text(json.dumps(settings))
    assert load_encoder(copy).tokenizer.model_max_length == 512


@pytest.mark.parametrize("kind", LEAKY)
def test_a_model_whose_answers_depend_on_padding_is_refused(
    encoder_folder: Path, tmp_path: Path, kind: str
) -> None:
    copy = shutil.copytree(encoder_folder, tmp_path / "copy")
    (copy / "config.json").write_text(json.dumps({"model_type": kind}))
    with pytest.raises(EncoderError, match=rf"copy: lets padding into its hidden states: .*found {kind}"):
        load_encoder(copy)


@pytest.mark.parametrize("kind", ["gpt2", "llama", "t5"])
def test_a_model_that_writes_text_is_no_encoder(encoder_folder: Path, tmp_path: Path, kind: str) -> None:
    copy = shutil.copytree(encoder_folder, tmp_path / "copy")
    (copy / "config.json").write_text(json.dumps({"model_type": kind}))
    with pytest.raises(EncoderError, match=rf"is no encoder; expected a BERT-like model; found {kind}"):
        load_encoder(copy)
