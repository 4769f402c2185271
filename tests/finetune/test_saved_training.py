from pathlib import Path

import pytest
import torch

from bv_search.errors import OutputError
from bv_search.finetune.saved_training import FOLDER, TrainingFolder, TrainingState, begun_precision

STATE = TrainingState(
    encoder={"weights/a": torch.arange(6.0), "step/a": torch.tensor(3.0)},
    riders={"running/mean": torch.ones(2, 3)},
    heads={"0000": b"one", "0001": b"two"},
)


def keep(folder: TrainingFolder, step: int) -> None:
    folder.keep(STATE, step=step, seconds=2.5, ride_seconds=0.5)


def test_what_was_kept_is_found_and_the_same(tmp_path: Path) -> None:
    keep(TrainingFolder(tmp_path, "settings", "bfloat16"), 7)
    folder = TrainingFolder(tmp_path, "settings", "bfloat16")
    found = folder.find(before=8)
    assert found is not None
    assert (found.step, found.seconds, found.ride_seconds) == (7, 2.5, 0.5)
    state = folder.load(found)
    for ours, theirs in ((state.encoder, STATE.encoder), (state.riders, STATE.riders)):
        assert ours.keys() == theirs.keys()
        assert all(torch.equal(ours[name], theirs[name]) for name in ours)
    assert state.heads == STATE.heads


def test_a_newer_one_takes_the_older_ones_place(tmp_path: Path) -> None:
    folder = TrainingFolder(tmp_path, "settings", "bfloat16")
    keep(folder, 9)
    keep(folder, 10)
    assert [path.name for path in (tmp_path / FOLDER).iterdir()] == ["10"]


def test_one_is_kept_until_a_stage_stands_there(tmp_path: Path) -> None:
    folder = TrainingFolder(tmp_path, "settings", "bfloat16")
    folder.forget(7)
    keep(folder, 7)
    folder.forget(6)
    assert folder.find(before=8) is not None
    folder.forget(7)
    assert not (tmp_path / FOLDER).exists()


def test_one_of_other_settings_or_of_a_later_step_is_of_no_use(tmp_path: Path) -> None:
    folder = TrainingFolder(tmp_path, "settings", "bfloat16")
    assert folder.find(before=8) is None
    keep(folder, 7)
    assert folder.find(before=7) is None
    assert TrainingFolder(tmp_path, "others", "bfloat16").find(before=8) is None


def test_its_precision_is_known_without_its_settings(tmp_path: Path) -> None:
    assert begun_precision(tmp_path) is None
    keep(TrainingFolder(tmp_path, "settings", "bfloat16"), 7)
    assert begun_precision(tmp_path) == "bfloat16"


@pytest.mark.parametrize("name", ["encoder.safetensors", "riders.safetensors", "0001.safetensors"])
def test_one_flipped_bit_is_named(tmp_path: Path, name: str) -> None:
    folder = TrainingFolder(tmp_path, "settings", "bfloat16")
    keep(folder, 7)
    path = tmp_path / FOLDER / "7" / name
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    found = folder.find(before=8)
    assert found is not None
    with pytest.raises(OutputError, match=rf"{name}: is damaged.*delete .training"):
        folder.load(found)


def test_one_is_due_after_a_while(tmp_path: Path) -> None:
    assert not TrainingFolder(tmp_path, "settings", "bfloat16").is_due()
