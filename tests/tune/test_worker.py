"""The crew: what scan workers reserve of a cluster, and what becomes of a job whose worker is lost."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bv_search.store.store import Store
from bv_search.tune.worker import Share

SMALL, LARGE = {"CPU": 2.0}, {"CPU": 16.0}
ONE_GPU, FOUR_GPUS = {"CPU": 8.0, "GPU": 1.0}, {"CPU": 32.0, "GPU": 4.0}
TRIAL = 0.01  # of a core


@pytest.mark.parametrize(
    ("machines", "workers", "expected"),
    [
        ([SMALL], None, (1, 1, 2, 0)),
        ([SMALL], 2, (2, 0.5, 1, 0)),
        ([LARGE], 3, (3, 4, 5, 0)),
        ([SMALL, LARGE], None, (1, 15, 16, 0)),
        ([SMALL, FOUR_GPUS], None, (4, 7, 8, 1)),
        ([ONE_GPU, FOUR_GPUS], None, (5, 7, 8, 1)),
        ([FOUR_GPUS], 2, (2, 15, 16, 1)),
    ],
)
def test_a_worker_has_a_gpu_or_the_cores_of_a_machine(
    machines: list[dict[str, float]], workers: int | None, expected: tuple[int, float, int, int]
) -> None:
    share = Share.of_cluster(machines, workers)

    assert (share.workers, share.cpus, share.threads, share.gpus) == expected


@pytest.mark.parametrize("workers", [None, 1, 2, 3, 4, 5, 9, 33])
@pytest.mark.parametrize(
    "machines",
    [
        [{"CPU": 1.0}],
        [SMALL],
        [SMALL, SMALL],
        [SMALL, LARGE],
        [{"memory": 1.0}, SMALL],
        [ONE_GPU, ONE_GPU],
        [SMALL, FOUR_GPUS],
        [{"CPU": 1.0, "GPU": 4.0}, ONE_GPU],
    ],
)
def test_all_workers_and_a_trial_fit_on_any_cluster(
    machines: list[dict[str, float]], workers: int | None
) -> None:
    """Placed on whichever machine has room, in either order: none may wait for what will never be free."""
    share = Share.of_cluster(machines, workers)

    for order in (machines, machines[::-1]):
        free = [dict(machine) for machine in order]
        for _ in range(share.workers):
            _place(free, {"CPU": share.cpus, "GPU": share.gpus})
        _place(free, {"CPU": TRIAL})


def _place(free: list[dict[str, float]], needs: dict[str, float]) -> None:
    machine = next(m for m in free if all(m.get(name, 0.0) >= need for name, need in needs.items()))
    for name, need in needs.items():
        machine[name] = machine.get(name, 0.0) - need


HUNGRY = """
import sys
from bv_search.cluster import ray_session
from bv_search.scan.trial import TrialConfig
from bv_search.tune.worker import Crew, Job, Reading, Share

with ray_session():
    reading = Reading(store=sys.argv[1], source="store", window=None)
    share = Share(workers=1, cpus=0.5, threads=1, gpus=0)
    with Crew(reading, share, tell=lambda text: None) as crew:
        for size in (30_000_000, 4):
            head = TrialConfig.from_json({"head": {"kind": "adapter", "size": size}})
            crew.submit(Job(method="segment", arguments=([("it", head)], 13, {"it"}), about=size))
            (end,) = crew.finished(wait=None)
            while not crew.idle:
                crew.finished(wait=None)
            print(end.result)
"""


@pytest.mark.slow
def test_a_worker_that_ray_ends_for_want_of_memory_is_replaced(class_store: Store) -> None:
    """On a cluster whose Ray watches memory; it is told that two more gigabytes are too many."""
    memory = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
    total, available = (int(memory[name].split()[0]) / 2**20 for name in ("MemTotal", "MemAvailable"))
    watch = {
        "RAY_memory_usage_threshold": f"{(total - available + 2.0) / total:.4f}",
        "RAY_memory_monitor_refresh_ms": "50",
    }

    said = subprocess.run(
        [sys.executable, "-c", HUNGRY, class_store.path],
        env={**os.environ, **watch, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert said.returncode == 0, said.stderr
    lost, trained = said.stdout.splitlines()
    assert lost.startswith(
        "Lost(reason='its scan worker died: 1 worker(s) were killed due to the node running"
    )
    assert lost.endswith("low on memory', worker_died=True)"), "a line, not a table of processes"
    assert trained.startswith("[Outcome(trial='it', position=13")
