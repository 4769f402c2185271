"""`cluster/slurm.sbatch` on three hosts; srun, which starts a command on the other ones, is played by ssh."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bv_search.run.folder import Run
from tests.cluster.clusters import SETTINGS, Cluster, add_hosts
from tests.cluster.hosts import REPOSITORY, network
from tests.stores import make_class_store

AFTERWARDS_SECONDS = 120.0  # workers notice by themselves that their head has gone
SRUN = """\
#!/bin/bash
while [[ $1 == --* ]]; do shift; done
for address in $OTHERS; do
  ssh -i /shared/.hosts/id -o StrictHostKeyChecking=no -o LogLevel=ERROR ubuntu@$address \\
    "$(export -p); cd '$PWD'; exec $*" < /dev/null &
done
wait
"""


@pytest.fixture(scope="module")
def cluster(may_build_hosts: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with network(tmp_path_factory.mktemp("slurm"), SETTINGS) as made:
        cluster = Cluster(network=made)
        add_hosts(cluster)
        srun = cluster.shared / ".hosts/bin/srun"
        srun.parent.mkdir()
        srun.write_text(SRUN)
        srun.chmod(0o755)
        make_class_store(cluster.shared / "store")
        yield cluster


def sbatch(cluster: Cluster, command: str) -> str:
    others = " ".join(host.address for host in cluster.workers)
    job = "SLURM_JOB_ID=7 SLURMD_NODENAME=head SLURM_JOB_NUM_NODES=3 SLURM_CPUS_ON_NODE=2"
    place = f"PATH=/shared/.hosts/bin:$PATH PYTHONPATH={REPOSITORY} OTHERS='{others}'"
    return f"{job} {place} bash {REPOSITORY}/cluster/slurm.sbatch {command}"


def tune(name: str, trials: int) -> str:
    places = "--store /shared/store --runs /shared/runs"
    return f"bv-search tune {places} --trials {trials} --workers 2 --name {name}"


def none_is_left(cluster: Cluster) -> bool:
    until = time.monotonic() + AFTERWARDS_SECONDS
    while cluster.of_ray() and time.monotonic() < until:
        time.sleep(1)
    return not cluster.of_ray()


def test_a_search_has_all_nodes_and_leaves_none_behind(cluster: Cluster) -> None:
    done = cluster.head.run(sbatch(cluster, tune("first", 4)), folder="/shared")
    run = Run.open(cluster.shared / "runs/first")
    assert run.has_ended, done.stdout + done.stderr
    assert none_is_left(cluster), cluster.of_ray()


def test_a_command_that_fails_says_so(cluster: Cluster) -> None:
    done = cluster.head.run(sbatch(cluster, "bv-search tune --store /nowhere"), folder="/shared", check=False)
    assert done.returncode == 2
    assert "/nowhere" in done.stderr
    assert none_is_left(cluster)


def test_time_that_is_up_ends_it_with_its_work_kept(cluster: Cluster, tmp_path: Path) -> None:
    process = cluster.head.start(sbatch(cluster, tune("long", 64)), tmp_path / "log", folder="/shared")
    journal = cluster.shared / "runs/long/journal.jsonl"
    until = time.monotonic() + 240
    while not (journal.exists() and '"segment"' in journal.read_text()):
        assert process.poll() is None, (tmp_path / "log").read_text()
        assert time.monotonic() < until
        time.sleep(0.5)
    cluster.head.run("kill -TERM $(pgrep --full '^bash /[^ ]*slurm.sbatch')")
    assert process.wait(timeout=120) == 143, (tmp_path / "log").read_text()
    run = Run.open(cluster.shared / "runs/long")
    assert not run.has_ended
    assert run.finished_trials() or run.events()
    assert none_is_left(cluster)
