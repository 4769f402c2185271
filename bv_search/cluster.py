"""Ray for the verbs that distribute: the cluster that RAY_ADDRESS names, or a quiet one of this machine."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from bv_search.command import CALM_THREADS

SETTINGS = {
    **CALM_THREADS,
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_BACKEND_LOG_LEVEL": "fatal",
    # short of memory, Ray ends the youngest processes, which fill nothing; the kernel ends the largest
    "RAY_memory_monitor_refresh_ms": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
}
LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
"""Ray's servers listen on every interface unless the node's own address is 127.0.0.1. Asked for that
address by name, Ray replaces it by a public one; by this setting, made for other systems, it takes it."""


@contextmanager
def ray_session() -> Iterator[None]:
    """Ray inside; what was started here ends here, what was there before stays."""
    alone = not os.environ.get("RAY_ADDRESS")
    for name, value in {**SETTINGS, **(LOOPBACK if alone else {})}.items():
        os.environ.setdefault(name, value)
    import ray
    from ray._private import ray_constants

    if alone:
        ray_constants.ENABLE_RAY_CLUSTER = False  # for a Ray that was imported before the setting was made
    if ray.is_initialized():
        yield
        return
    with _native_stderr_closed():
        if alone:
            ray.init(
                address="local", include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR
            )
        else:
            ray.init(logging_level=logging.ERROR, log_to_driver=False)
    try:
        yield
    finally:
        ray.shutdown()


def machines() -> list[dict[str, Any]]:
    """What each machine of the cluster has: {"CPU": 8.0, "GPU": 1.0, …}."""
    import ray

    return [dict(node["Resources"]) for node in ray.nodes() if node["Alive"]]


@contextmanager
def _native_stderr_closed() -> Iterator[None]:
    """Ray's C++ side announces its log level on standard error before it can be told not to."""
    kept, sink = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(sink, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(sink)
