"""A short pre-training teaches something, and repeats."""

from pathlib import Path

import pytest

from bv_search.demo.encoder import build_encoder
from bv_search.demo.pretraining import PretrainingSettings, PretrainingStep
from tests.demo.test_encoder import SMALL, weights

SHORT = PretrainingSettings(steps=60, batch=16, warm_up=20)


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
