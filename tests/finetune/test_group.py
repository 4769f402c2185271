import json
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
import torch
from safetensors.torch import load_file

from bv_search.cluster import ray_session
from bv_search.command import Progress
from bv_search.errors import DataError, UserError
from bv_search.finetune.config import FinetuneConfig
from bv_search.finetune.event import Progressed
from bv_search.finetune.finetuning import run
from bv_search.finetune.group import LOST, plan_group, train_together
from bv_search.finetune.saved_training import FOLDER
from bv_search.finetune.stage_folder import SavedStage
from bv_search.tasks.registry import find_task

Configure = Callable[..., FinetuneConfig]
QUIET = Progress(quiet=True)


@pytest.fixture(scope="module")
def ray_here() -> Iterator[None]:
    """One Ray for all, of which each test makes its own group."""
    with ray_session():
        yield


def workers_here() -> list[psutil.Process]:
    """Of Ray Train, begun by this process."""
    children = psutil.Process().children(recursive=True)
    return [each for each in children if "RayTrainWorker" in " ".join(_cmdline(each))]


def _cmdline(process: psutil.Process) -> list[str]:
    try:
        return list(process.cmdline())
    except psutil.NoSuchProcess:
        return []


def weights(stages: list[SavedStage]) -> list[str]:
    return [saved.stage.weights for saved in stages]


@pytest.fixture
def still_encoder(tiny_encoder: Path, tmp_path: Path) -> Path:
    """Without dropout, which each part of a step has of its own."""
    folder = shutil.copytree(tiny_encoder, tmp_path / "still")
    about = json.loads((folder / "config.json").read_text())
    about |= {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    (folder / "config.json").write_text(json.dumps(about))
    return folder


def test_two_workers_come_to_what_one_comes_to(
    configure: Configure, ray_here: None, still_encoder: Path, tmp_path: Path
) -> None:
    """Within rounding; and to the bits of one that reads its steps in two parts."""
    settings = {"encoder": str(still_encoder), "precision": "float32", "batch": 5}
    one = run(configure(**settings, out=tmp_path / "one"), QUIET)
    in_parts = run(configure(**settings, out=tmp_path / "parts", accumulate=2), QUIET)
    said: list[str] = []
    config = configure(**settings, workers=2)
    two = run(config, Listening(said))
    assert_near(two[0].path, one[0].path, still_encoder)
    for ours, theirs in zip(two, one, strict=True):
        score = theirs.stage.metrics["report"]["score"]
        assert ours.stage.metrics["report"]["score"] == pytest.approx(score, abs=0.05)
    assert weights(two) == weights(in_parts)
    assert [saved.stage.metrics for saved in two] == [saved.stage.metrics for saved in in_parts]
    assert [saved.stage.parts for saved in two] == [2, 2]
    assert sorted(path.name for path in config.out.iterdir()) == [".lock", "0.3", "1"]
    assert not (Path.home() / "ray_results").exists()
    told = (f"stage {saved.path.name} is written to {saved.path}" for saved in two)
    assert said == ["precision: float32 (as asked for)", *told]


def assert_near(ours: Path, theirs: Path, encoder: Path) -> None:
    """But for what has no gradient: of its rounding Adam makes steps."""
    one, other, began = (load_file(folder / "model.safetensors") for folder in (ours, theirs, encoder))
    moved = 0.0
    for name in other.keys() - {name for name in other if name.endswith("key.bias")}:
        before = began.get(name.removeprefix("bert."), other[name])
        torch.testing.assert_close(one[name], other[name], rtol=0, atol=1e-4)
        moved = max(moved, float((other[name] - before).abs().max()))
    assert moved > 2e-3


def test_the_users_mistake_is_one_line_and_ends_all_workers(
    configure: Configure, ray_here: None, tmp_path: Path
) -> None:
    with pytest.raises(DataError, match=r"nothing: does not exist") as caught:
        run(configure(workers=2, data=str(tmp_path / "nothing")), QUIET)
    assert "\n" not in str(caught.value)
    deadline = time.monotonic() + 20
    while workers_here() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert workers_here() == []


@pytest.mark.slow
def test_a_worker_that_dies_is_replaced_and_the_stages_are_the_same(
    configure: Configure, ray_here: None, tmp_path: Path
) -> None:
    one = run(configure(accumulate=2, precision="float32", out=tmp_path / "one", fractions=(0.3, 6.0)), QUIET)
    config = configure(workers=2, precision="float32", fractions=(0.3, 6.0))
    stages, said = {}, []
    for event in train_together(config, find_task(config.task)):
        if isinstance(event, Progressed):
            said.append(event.text)
            continue
        if not event.kept and event.stage.fraction == 0.3:
            _await(config.out / FOLDER)
            workers_here()[0].send_signal(signal.SIGKILL)
        stages[event.stage.fraction] = event
    assert LOST in said
    assert any(line.startswith("going on from step ") for line in said)
    assert weights([stages[0.3], stages[6.0]]) == weights(one)


def _await(folder: Path) -> None:
    deadline = time.monotonic() + 20
    while not list(folder.glob("[0-9]*")) and time.monotonic() < deadline:
        time.sleep(0.01)


class Listening(Progress):
    """To the lines that stay."""

    def __init__(self, said: list[str]) -> None:
        super().__init__(quiet=True)
        self._said = said

    def say(self, text: str) -> None:
        self._said.append(text)


def test_each_worker_has_a_gpu_where_there_are_any() -> None:
    nodes = [{"CPU": 8.0, "GPU": 2.0}, {"CPU": 8.0, "GPU": 1.0}]
    assert plan_group(nodes, 3, "auto").needs == {"CPU": 1, "GPU": 1}
    with pytest.raises(UserError, match=r"--workers is too large; expected at most 3, .*; found 4"):
        plan_group(nodes, 4, "auto")
    assert plan_group(nodes, 4, "cpu").needs == {"CPU": 4.0}


@pytest.mark.parametrize(
    ("cores", "workers", "share"),
    [([8], 2, 4.0), ([8], 3, 8 / 3), ([4, 4, 4], 2, 4.0), ([8, 2], 2, 4.0), ([2], 4, 0.5), ([0, 4], 1, 4.0)],
)
def test_without_gpus_the_cores_are_shared(cores: list[int], workers: int, share: float) -> None:
    plan = plan_group([{"CPU": float(each)} for each in cores], workers, "auto")
    assert plan.cpus == pytest.approx(share)
    assert plan.needs.keys() == {"CPU"}
    assert plan.threads == max(1, int(share))
