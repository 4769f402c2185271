"""What becomes of a call whose worker is lost."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bv_search.store.store import Store

HUNGRY = """
import sys
from bv_search.cluster import ray_session
from bv_search.scan.outcome import Start
from bv_search.scan.trial import TrialConfig
from bv_search.tune.ray.workers import RayWorkers
from bv_search.tune.workers import Call, WorkerInput, WorkerShare

with ray_session():
    inputs = WorkerInput(
        store=sys.argv[1], source="store", memory=None, cache=None, folds=1, precision="float32"
    )
    share = WorkerShare(workers=1, cpus=0.5, threads=1, gpus=0)
    with RayWorkers(inputs, share, tell=lambda text: None) as workers:
        for size in (30_000_000, 4):
            config = TrialConfig.from_json({"head": {"kind": "adapter", "size": size}})
            heads = [Start(trial="it", config=config)]
            workers.submit(Call(method="segment", arguments=(heads, 13, ["it"], None), about=size))
            (end,) = workers.finished(wait=None)
            while not workers.idle:
                workers.finished(wait=None)
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
        "LostCall(reason='its scan worker died: 1 worker(s) were killed due to the node running"
    )
    assert lost.endswith("low on memory', worker_died=True)"), "a line, not a table of processes"
    assert trained.startswith("[Outcome(trial='it', position=13")
