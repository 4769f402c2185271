"""What can happen to a machine in the middle of work, and how it is set right again."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from tests.cluster.clusters import Cluster
from tests.cluster.hosts import Host

LEAVE_FREE = 1 << 20
WORK_SECONDS = 60.0
FILL = "/tmp/fill"
BUSY = "busy"


@contextmanager
def unplugged(cluster: Cluster, host: Host) -> Iterator[None]:
    cluster.network.link(host.name, "down")
    try:
        yield
    finally:
        cluster.network.link(host.name, "up")


@contextmanager
def without_raylet(cluster: Cluster, host: Host) -> Iterator[None]:
    assert host.kill("/raylet/raylet ")
    yield


@contextmanager
def without_worker(cluster: Cluster, host: Host) -> Iterator[None]:
    until = time.monotonic() + WORK_SECONDS
    while not any(host.kill(mark) for mark in ("ray::ScanWorker", "ray::MapWorker")):
        assert time.monotonic() < until, f"nothing works on {host.name}"
        time.sleep(0.1)
    yield


@contextmanager
def with_full_disk(cluster: Cluster, host: Host) -> Iterator[None]:
    """But for a megabyte."""
    host.run(f"fallocate -l $(( $(df --output=avail -B1 / | tail -1) - {LEAVE_FREE} )) {FILL}")
    try:
        yield
    finally:
        host.run(f"rm {FILL}")


@contextmanager
def with_busy_store(cluster: Cluster, host: Host) -> Iterator[None]:
    """Object storage says 503 to everybody."""
    (cluster.shared / BUSY).touch()
    try:
        yield
    finally:
        (cluster.shared / BUSY).unlink()


TROUBLES = {
    "unplugged": unplugged,
    "raylet": without_raylet,
    "worker": without_worker,
    "full-disk": with_full_disk,
    "busy-store": with_busy_store,
}
