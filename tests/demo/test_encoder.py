from dataclasses import replace
from pathlib import Path

from bv_search.demo.encoder import EncoderSettings, build_encoder
from bv_search.encoder.checkpoint import load_encoder
from bv_search.files import digest_file

SMALL = EncoderSettings(layers=2, width=32, heads=2, vocabulary=400)


def weights(folder: Path) -> str:
    return digest_file(folder / "model.safetensors")


def test_the_project_loads_it_as_an_encoder_without_predictions(tiny_encoder: Path) -> None:
    encoder = load_encoder(tiny_encoder, device="cpu")
    assert (encoder.layers, encoder.width, encoder.predicts) == (3, 32, False)


def test_the_same_seed_gives_the_same_weights(
    generated_data: Path, tiny_encoder: Path, tmp_path: Path
) -> None:
    same = build_encoder(tmp_path / "same", generated_data, SMALL)
    other = build_encoder(tmp_path / "other", generated_data, replace(SMALL, seed=1))
    assert weights(same) == weights(tiny_encoder)
    assert weights(other) != weights(tiny_encoder)
