"""A Ray cluster on this machine whose autoscaler adds nodes and takes them away: Ray's own fake provider.

Ray's `AutoscalingCluster` begins and ends with `ray stop --force`, which ends every Ray of the machine; this
one ends what it began.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psutil

HEAD_ID = "fffffffffffffffffffffffffffffffffffffffffffffffffff00000"
START_SECONDS = 90.0
IDLE_SECONDS = 3.0


@dataclass(frozen=True, kw_only=True)
class ElasticCluster:
    environment: dict[str, str]  # of whoever joins it
    folder: Path

    def nodes(self) -> list[psutil.Process]:
        """Those that the autoscaler has added, each by the process that is its machine."""
        found = []
        for process in psutil.process_iter(["cmdline"]):
            words = process.info["cmdline"] or [""]
            is_ours = words[0].endswith("raylet/raylet") and f"--temp-dir={self.folder}" in words
            if is_ours and "--head" not in words:
                found.append(process)
        return found

    def await_nodes(self, count: int, seconds: float = 60.0) -> None:
        """As many, no more and no fewer."""
        deadline = time.monotonic() + seconds
        while (there := len(self.nodes())) != count:
            assert time.monotonic() < deadline, f"{there} nodes, and not {count}"
            time.sleep(0.2)


@contextmanager
def elastic_cluster(
    *, most: int, node: Mapping[str, float], head: Mapping[str, float] | None = None
) -> Iterator[ElasticCluster]:
    """Its head has no room for work, unless told; up to `most` nodes come when needed, and go when idle."""
    # names of sockets are short, and pytest's folders long
    with (
        TemporaryDirectory(prefix="bv-", ignore_cleanup_errors=True) as place,
        _begun(Path(place), most, node, head or {"CPU": 0}) as joining,
    ):
        yield ElasticCluster(environment=joining, folder=Path(place))


@contextmanager
def _begun(
    place: Path, most: int, node: Mapping[str, float], head: Mapping[str, float]
) -> Iterator[dict[str, str]]:
    port = _free_port()
    address = f"127.0.0.1:{port}"
    config = place / "cluster.json"
    config.write_text(json.dumps(_config(address, most, node, head)))
    command = [
        str(Path(sys.executable).with_name("ray")),
        *("start", "--head", "--block", "--node-ip-address=127.0.0.1", f"--port={port}"),
        *(
            "--include-dashboard=false",
            f"--num-cpus={head.get('CPU', 0)}",
            f"--temp-dir={place}",
        ),
        *("--object-store-memory=100000000", f"--autoscaling-config={config}"),
    ]
    joining = {
        "RAY_ADDRESS": address,
        "RAY_AUTH_MODE": "disabled",  # a token on this machine would turn it on
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # or Ray replaces 127.0.0.1 by a public address
    }
    settings = {
        **joining,
        "AUTOSCALER_UPDATE_INTERVAL_S": "1",
        "RAY_FAKE_CLUSTER": "1",
        "RAY_OVERRIDE_NODE_ID_FOR_TESTING": HEAD_ID,
        "RAY_CLOUD_INSTANCE_ID": HEAD_ID,
        "RAY_enable_autoscaler_v2": "1",
        "RAY_memory_monitor_refresh_ms": "0",
        # a node that is killed is noticed in two seconds
        "RAY_health_check_initial_delay_ms": "0",
        "RAY_health_check_period_ms": "1000",
        "RAY_health_check_timeout_ms": "1000",
        "RAY_health_check_failure_threshold": "2",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    with (place / "ray.log").open("wb") as log:
        environment = {name: value for name, value in os.environ.items() if name != "RAY_ADDRESS"}
        del settings["RAY_ADDRESS"]
        head_process = subprocess.Popen(
            command, env={**environment, **settings}, stdout=log, stderr=log, start_new_session=True
        )
    try:
        _await_start(place / "ray.log", head_process)
        yield joining
    finally:
        _end(head_process)


def _config(address: str, most: int, node: Mapping[str, float], head: Mapping[str, float]) -> dict[str, Any]:
    return {
        "cluster_name": "fake",
        "max_workers": most,
        "upscaling_speed": 100.0,
        "idle_timeout_minutes": IDLE_SECONDS / 60,
        "provider": {
            # by its name, "fake_multinode", Ray looks for a file that its package lacks
            "type": "external",
            "module": "ray.autoscaler._private.fake_multi_node.node_provider.FakeMultiNodeProvider",
            "gcs_address": address,
            "head_node_id": HEAD_ID,
            "launch_multiple": True,
            "use_node_id_as_ip": True,
            "disable_node_updaters": True,
            "disable_launch_config_check": True,
            "foreground_node_launch": True,
            "worker_liveness_check": False,
            "worker_rpc_drain": True,
        },
        "available_node_types": {
            "ray.head.default": {"resources": dict(head), "node_config": {}, "max_workers": 0},
            "worker": {
                "resources": dict(node),
                "node_config": {},
                "min_workers": 0,
                "max_workers": most,
            },
        },
        "head_node_type": "ray.head.default",
        "auth": {},
        "file_mounts": {},
        "cluster_synced_files": [],
        "initialization_commands": [],
        "setup_commands": [],
        "head_setup_commands": [],
        "worker_setup_commands": [],
        "head_start_ray_commands": [],
        "worker_start_ray_commands": [],
    }


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _await_start(log: Path, process: subprocess.Popen[bytes]) -> None:
    """Its port is open before it can be joined."""
    deadline = time.monotonic() + START_SECONDS
    while "will now block" not in (said := log.read_text(errors="replace")):
        assert process.poll() is None, said
        assert time.monotonic() < deadline, said
        time.sleep(0.2)


def _end(process: subprocess.Popen[bytes]) -> None:
    """With all that it began: the monitor's nodes among them."""
    below = psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []
    process.send_signal(signal.SIGKILL)
    process.wait()
    for each in below:
        with suppress(psutil.NoSuchProcess):
            each.kill()
