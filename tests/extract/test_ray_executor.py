"""The same steps on Ray: equal bytes, and errors that arrive as they were."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bv_search.cluster import ray_session
from bv_search.command import Progress
from bv_search.encoder.checkpoint import load_encoder
from bv_search.errors import DataError, StoreError
from bv_search.extract.config import ExtractConfig
from bv_search.extract.extraction import run
from bv_search.extract.ray_executor import plan_workers, worker_bytes
from tests.extract.conftest import Extract, contents

NEED = 3 << 30


@pytest.fixture(scope="module")
def ray() -> Iterator[None]:
    with ray_session():
        yield


def test_a_cluster_of_ones_own_listens_to_nobody_outside(ray: None) -> None:
    import ray as running

    assert [node["NodeManagerAddress"] for node in running.nodes()] == ["127.0.0.1"]


@pytest.mark.parametrize(
    ("workers", "fmt"),
    [
        (2, "parquet"),
        *(pytest.param(*each, marks=pytest.mark.slow) for each in [(1, "npy"), (2, "npy"), (2, "none")]),
    ],
)
def test_workers_write_the_bytes_of_one_process(
    ray: None,
    extract: Extract,
    config: Callable[..., ExtractConfig],
    tmp_path: Path,
    workers: int,
    fmt: str,
) -> None:
    alone = extract(format=fmt, out=str(tmp_path / "alone"))
    shared = run(config(format=fmt, workers=workers), Progress(quiet=True))
    assert shared.encoded_blocks == alone.blocks
    assert shared.manifest == alone.manifest
    assert contents(tmp_path / "store") == contents(tmp_path / "alone")


def test_errors_of_workers_arrive_as_they_were(
    ray: None, config: Callable[..., ExtractConfig], tiny_encoder: Path, tmp_path: Path
) -> None:
    with pytest.raises(DataError, match="/nowhere: does not exist"):
        run(config(workers=1, data="/nowhere"), Progress(quiet=True))
    encoder = tmp_path / "hot"
    loaded = load_encoder(tiny_encoder)
    loaded.model.encoder.layer[1].output.LayerNorm.weight.data.mul_(1e6)
    loaded.model.save_pretrained(encoder)
    loaded.tokenizer.save_pretrained(encoder)
    with pytest.raises(StoreError, match="'layer 2' does not fit float16"):
        run(config(workers=1, encoder=str(encoder)), Progress(quiet=True))
    assert not (tmp_path / "store/manifest.json").exists()


@pytest.mark.parametrize(
    ("nodes", "workers", "threads", "expected"),
    [
        ([(2, 0, 20)], None, None, (2, 1, 1.0, 0.0, NEED)),
        ([(8, 0, 100)], None, None, (8, 1, 1.0, 0.0, NEED)),
        ([(8, 0, 100)], None, 4, (2, 4, 4.0, 0.0, NEED)),
        ([(8, 0, 7)], None, None, (2, 4, 4.0, 0.0, NEED)),  # memory for two
        ([(8, 0, 2)], None, None, (1, 8, 8.0, 0.0, 0)),  # for none: one tries
        ([(4, 0, 100), (16, 0, 7), (1, 0, 1)], None, None, (6, 1, 1.0, 0.0, NEED)),
        ([(2, 0, 20)], 4, None, (4, 1, 0.5, 0.0, 0)),
        ([(8, 4, 20), (8, 0, 1)], None, None, (4, 4, 4.0, 1.0, 0)),
        ([(16, 1, 20)], 2, None, (2, 8, 8.0, 0.5, 0)),
    ],
)
def test_workers_share_what_the_cluster_has(
    nodes: list[tuple[int, int, int]], workers: int | None, threads: int | None, expected: tuple[float, ...]
) -> None:
    resources = [{"CPU": cpus, "GPU": gpus, "memory": gigabytes << 30} for cpus, gpus, gigabytes in nodes]
    pool = plan_workers(resources, NEED, workers, threads)
    assert (pool.workers, pool.threads, pool.cpus, pool.gpus, pool.memory) == expected


def test_a_worker_needs_its_weights_twice_and_its_work() -> None:
    assert worker_bytes(100_000_000) == 800_000_000 + (2 << 30)


def test_without_being_told_workers_are_as_many_as_fit(
    ray: None, extract: Extract, config: Callable[..., ExtractConfig], tmp_path: Path
) -> None:
    alone = extract(out=str(tmp_path / "alone"))
    shared = run(config(workers=None, threads=None), Progress(quiet=True))
    assert shared.manifest == alone.manifest
