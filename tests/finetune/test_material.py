"""What fine-tuning works on."""

from pathlib import Path

import numpy as np
import pytest

from bv_search.encoder.checkpoint import load_untrained
from bv_search.encoder.location import locate_encoder
from bv_search.encoder.training import Step
from bv_search.finetune.material import Material
from bv_search.tasks.dataset import load_dataset
from bv_search.tasks.registry import find_task
from bv_search.tasks.row import Role


def material_of(task_name: str, encoder: Path, data: Path) -> Material:
    task = find_task(task_name)
    return Material(
        checkpoint=load_untrained(locate_encoder(encoder), task, seed=0),
        task=task,
        dataset=load_dataset(task, str(data)),
    )


@pytest.fixture(scope="module")
def material(rte_folder: Path, tiny_encoder: Path) -> Material:
    return material_of("rte", tiny_encoder, rte_folder)


def test_every_row_is_in_the_windows_of_its_role(material: Material) -> None:
    assert material.rows == 150
    assert {role: windows.num_rows for role, windows in material.windows.items()} == {
        role: len(material.dataset.rows(role)) for role in Role
    }


def test_rows_that_were_met_are_known_by_their_keys(material: Material) -> None:
    met = np.array([3, 1, 3])
    step = Step(
        number=1, total=1, loss=0.0, tokens=1, windows=met, states=None, reached=(1.0,), met=np.unique(met)
    )
    keys = material.windows[Role.TRAIN].column("key").to_pylist()
    assert material.keys_of(step).tolist() == sorted({keys[1], keys[3]})


def test_answers_that_no_window_holds_are_counted(
    generated_data: Path, lossy_data: Path, tiny_encoder: Path
) -> None:
    whole, lossy = (material_of("squad2-span", tiny_encoder, data) for data in (generated_data, lossy_data))
    assert (whole.placement.lost, lossy.placement.lost) == (0, 1)
    assert whole.placement.answers > 100
