"""Ray for the verbs that distribute: the cluster that RAY_ADDRESS names, or a quiet one of this machine."""

import logging
import os
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from typing import Any

from bv_search.command import CALM_THREADS, signals_held
from bv_search.errors import BvError, UserError
from bv_search.ping import ping, ping_grpc

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
    try:
        with signals_held(), _handlers_kept(), _native_stderr_closed():
            _begin() if alone else _join(os.environ["RAY_ADDRESS"])
        yield
    finally:
        ray.shutdown()


def _begin() -> None:
    import ray

    try:
        ray.init(address="local", include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    except (OSError, ValueError) as error:
        place = os.environ.get("RAY_TMPDIR") or tempfile.gettempdir()
        raise UserError(
            "Ray cannot work here",
            where=getattr(error, "filename", None) or place,
            expected="a home that can be written, and a folder for sockets with a short name",
            found=error,
            do="name others by HOME and RAY_TMPDIR",
        ) from error


@contextmanager
def _handlers_kept() -> Iterator[None]:
    """Ray answers SIGTERM in ways of its own, one with a native stack; it is the command's to answer."""
    from ray._private import utils

    theirs, ours = utils.set_sigterm_handler, signal.getsignal(signal.SIGTERM)
    utils.set_sigterm_handler = lambda handler: None
    try:
        yield
    finally:
        utils.set_sigterm_handler = theirs
        if current_thread() is main_thread() and ours is not None:
            signal.signal(signal.SIGTERM, ours)  # once more: Ray's C++ side took it unasked


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
        ray.init(find_address(address), logging_level=logging.ERROR, log_to_driver=False)
    except (OSError, RuntimeError, ValueError) as error:  # nobody there; another version of Ray; no address
        raise UserError(
            "the Ray cluster cannot be joined",
            where=f"RAY_ADDRESS={address}",
            expected="HOST:PORT of a cluster that runs this version of Ray, or auto",
            found=error,
            do="correct RAY_ADDRESS, or unset it to work on this machine",
        ) from error


def find_address(address: str) -> str:
    """Of a cluster that answers; an OSError where none does."""
    place = _find_cluster() if address == "auto" else address
    _ping(place)
    return place


def _find_cluster() -> str:
    """The cluster that was begun last on this machine; Ray itself waits for minutes where there is none."""
    from ray._private import services

    found = services.find_bootstrap_address(None) or next(iter(services.find_gcs_addresses()), None)
    if found is None:
        raise ConnectionError("no cluster runs on this machine")
    return str(found)


def _ping(address: str) -> None:
    """Ray asks for minutes where nobody answers."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if port.isdecimal() and "/" not in host:
        # with TLS the first word is another
        greet = ping if os.environ.get("RAY_USE_TLS", "0") not in ("", "0") else ping_grpc
        greet(host.strip("[]"), int(port))


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
