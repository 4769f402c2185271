import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bv_search.cluster import ray_session
from bv_search.command import Progress
from bv_search.errors import DataError
from bv_search.finetune.config import FinetuneConfig
from bv_search.finetune.finetuning import run

Configure = Callable[..., FinetuneConfig]
QUIET = Progress(quiet=True)


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    """A real Ray instance, named as a job on a cluster finds it named."""
    import ray

    with ray_session(), pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_ADDRESS", ray.get_runtime_context().gcs_address)
        yield


def test_on_a_cluster_the_stages_are_the_same_and_stand_where_they_were_asked_for(
    configure: Configure, cluster: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    heads = {"space": {"head": {"kind": "linear", "channels": "all"}, "learning_rate": 1e-3}}
    there = run(configure(fractions=(0.0, 0.3), out=Path("there"), heads=heads), QUIET)
    monkeypatch.delenv("RAY_ADDRESS")
    here = run(configure(fractions=(0.0, 0.3), out=Path("here"), heads=heads), QUIET)
    head = Path("heads/0.3/trials/0000/model.safetensors")
    assert (tmp_path / "there" / head).read_bytes() == (tmp_path / "here" / head).read_bytes()
    assert [saved.stage.weights for saved in there] == [saved.stage.weights for saved in here]
    assert (tmp_path / "there" / "0.3" / "stage.json").is_file()


def test_the_users_mistake_stays_one_line_across_processes(
    configure: Configure, cluster: None, tmp_path: Path
) -> None:
    assert os.environ["RAY_ADDRESS"]
    with pytest.raises(DataError, match=r"nothing: does not exist") as caught:
        run(configure(data=str(tmp_path / "nothing")), QUIET)
    assert "\n" not in str(caught.value)
