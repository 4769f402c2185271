"""What can happen to a machine in the middle of work, and how it is set right again."""

from collections.abc import Iterator
from contextlib import contextmanager

from tests.cluster.clusters import Cluster
from tests.cluster.hosts import Host

LEAVE_FREE = 1 << 20
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
def without_scan_worker(cluster: Cluster, host: Host) -> Iterator[None]:
    host.kill("ray::ScanWorker")
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
    "scan-worker": without_scan_worker,
    "full-disk": with_full_disk,
    "busy-store": with_busy_store,
}
