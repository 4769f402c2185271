from dataclasses import replace
from pathlib import Path

import pytest

from bv_search.demo.encoder import EncoderSettings, build_encoder
from bv_search.demo.pretraining import PretrainingSettings, PretrainingStep
from bv_search.encoder.checkpoint import load_encoder
from bv_search.files import digest_file

SMALL = EncoderSettings(layers=2, width=32, heads=2, vocabulary=400)
SHORT = PretrainingSettings(steps=60, batch=16, warm_up=20)


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


@pytest.fixture(scope="module")
def pretrained(
    generated_data: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, list[PretrainingStep]]:
    steps: list[PretrainingStep] = []
    folder = tmp_path_factory.mktemp("pretrained") / "encoder"
    return build_encoder(folder, generated_data, SMALL, SHORT, steps.append), steps


def test_pre_training_changes_the_weights_and_lowers_the_loss(
    pretrained: tuple[Path, list[PretrainingStep]], tiny_encoder: Path
) -> None:
    folder, steps = pretrained
    assert weights(folder) != weights(tiny_encoder)
    assert [step.number for step in steps] == [50, 60]
    assert steps[1].loss < steps[0].loss - 0.3


def test_pre_training_repeats(
    pretrained: tuple[Path, list[PretrainingStep]], generated_data: Path, tmp_path: Path
) -> None:
    again = build_encoder(tmp_path / "again", generated_data, SMALL, SHORT)
    assert weights(again) == weights(pretrained[0])
