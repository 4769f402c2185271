import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bv_search.encoder.checkpoint import load_encoder, load_untrained, save_checkpoint
from bv_search.encoder.identity import digest_weights
from bv_search.encoder.location import locate_encoder
from bv_search.encoder.stage import Stage, epochs, is_stage, read_seen, read_stage, stage_name, write_stage
from bv_search.errors import EncoderError
from bv_search.tasks.registry import find_task


@pytest.fixture
def stage_folder(encoder_folder: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "0.3"
    task = find_task("mrpc")
    checkpoint = load_untrained(locate_encoder(encoder_folder), task, seed=0)
    save_checkpoint(folder, checkpoint)
    stage = Stage(
        task=task.to_json(),
        encoder=checkpoint.identity,
        fraction=0.3,
        seed=0,
        learning_rate=2e-5,
        batch=8,
        steps=3,
        rows=3,
        data="xxh3:0",
        weights=digest_weights(folder),
        metrics={"select": {"score": 0.5}, "report": {"score": 0.6}},
        interval=(0.5, 0.7),
        seconds=1.5,
    )
    write_stage(folder, stage, np.array([3, 2**64 - 1, 3], dtype=np.uint64))
    return folder


def test_a_stage_reads_back_as_it_was_written(stage_folder: Path) -> None:
    stage = read_stage(stage_folder)
    assert is_stage(stage_folder)
    assert (stage.fraction, stage.interval, stage.metrics["report"]) == (0.3, (0.5, 0.7), {"score": 0.6})
    assert stage.task == find_task("mrpc").to_json()
    assert read_seen(stage_folder).tolist() == [3, 2**64 - 1]


def test_a_stage_is_an_encoder_with_predictions_under_its_first_name(
    stage_folder: Path, encoder_folder: Path
) -> None:
    encoder = load_encoder(stage_folder)
    assert encoder.predicts
    assert encoder.task == find_task("mrpc")
    assert encoder.stage == read_stage(stage_folder)
    assert encoder.identity.id == str(encoder_folder)
    assert encoder.identity.digest == digest_weights(stage_folder) != digest_weights(encoder_folder)


def test_a_stage_of_another_task_is_refused(stage_folder: Path) -> None:
    with pytest.raises(EncoderError, match=r"stage of another task; expected rte; found mrpc"):
        load_encoder(stage_folder, task=find_task("rte"))
    other = replace(find_task("mrpc"), max_length=64)
    with pytest.raises(EncoderError, match=r"expected mrpc; found mrpc with other settings"):
        load_encoder(stage_folder, task=other)


def test_a_flipped_bit_in_the_weights_is_found(stage_folder: Path) -> None:
    weights = stage_folder / "model.safetensors"
    data = bytearray(weights.read_bytes())
    data[-10] ^= 1
    weights.write_bytes(data)
    with pytest.raises(EncoderError, match=r"weights are damaged; expected xxh3:.*; found xxh3:"):
        load_encoder(stage_folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format_version": 9}, "another version; expected 1; found 9"),
        ({"seed": None}, "stage.json: makes no sense"),
    ],
)
def test_a_stage_file_that_is_not_ours_is_refused(
    stage_folder: Path, change: dict[str, object], message: str
) -> None:
    path = stage_folder / "stage.json"
    value = json.loads(path.read_text()) | change
    path.write_text(json.dumps({name: item for name, item in value.items() if item is not None}))
    with pytest.raises(EncoderError, match=message):
        read_stage(stage_folder)


def test_absent_keys_of_rows_are_an_error_not_an_empty_list(stage_folder: Path) -> None:
    (stage_folder / "seen.parquet").unlink()
    with pytest.raises(EncoderError, match=r"seen.parquet: does not exist"):
        read_seen(stage_folder)


def test_a_stage_can_be_moved(stage_folder: Path, tmp_path: Path) -> None:
    moved = shutil.move(stage_folder, tmp_path / "elsewhere")
    assert read_stage(Path(moved)).fraction == 0.3


def test_names_are_short_numbers() -> None:
    assert [stage_name(f) for f in (0.0, 0.3, 1.0, 2.0, 0.1 + 0.2)] == ["0", "0.3", "1", "2", "0.3"]


def test_one_epoch_is_one() -> None:
    assert [epochs(each) for each in (0.3, 1, 2)] == ["0.3 epochs", "1 epoch", "2 epochs"]
