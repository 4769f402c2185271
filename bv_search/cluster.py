"""Ray for the verbs that distribute: the cluster that RAY_ADDRESS names, or a quiet one of this machine."""

import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from bv_search.command import CALM_THREADS
from bv_search.errors import BvError, UserError

SETTINGS = {
    **CALM_THREADS,
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_BACKEND_LOG_LEVEL": "fatal",
    # short of memory, Ray ends the youngest processes, which fill nothing; the kernel ends the largest
    "RAY_memory_monitor_refresh_ms": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
}
CONNECT_SECONDS = 10.0
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
            _join(os.environ["RAY_ADDRESS"])
    try:
        yield
    finally:
        ray.shutdown()


def machines() -> list[dict[str, Any]]:
    """What each machine of the cluster has: {"CPU": 8.0, "GPU": 1.0, …}."""
    import ray

    return [dict(node["Resources"]) for node in ray.nodes() if node["Alive"]]


def result_of(reference: Any) -> Any:
    """What a worker answers. An error of ours or of the user's that it met is raised as itself."""
    import ray
    from ray.exceptions import RayTaskError

    try:
        return ray.get(reference)
    except RayTaskError as error:
        if isinstance(error.cause, BvError):
            raise error.cause from None
        raise


def _join(address: str) -> None:
    import ray

    try:
        _knock(address)
        ray.init(logging_level=logging.ERROR, log_to_driver=False)
    except (OSError, RuntimeError, ValueError) as error:  # nobody there; another version of Ray; no address
        raise UserError(
            "the Ray cluster cannot be joined",
            where=f"RAY_ADDRESS={address}",
            expected="HOST:PORT of a cluster that runs this version of Ray, or auto",
            found=error,
            do="correct RAY_ADDRESS, or unset it to work on this machine",
        ) from error


def _knock(address: str) -> None:
    """Ray asks for minutes where nobody answers."""
    host, _, port = address.rpartition(":")
    if port.isdecimal() and "/" not in host:
        socket.create_connection((host.strip("[]"), int(port)), CONNECT_SECONDS).close()


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
