"""Ray for the verbs that distribute: the cluster that RAY_ADDRESS names, or a quiet one of this machine."""

import logging
import os
import signal
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import current_thread, main_thread
from typing import Any

from bv_search.command import CALM_THREADS, signals_held
from bv_search.errors import BvError, UserError
from bv_search.ping import SECONDS as PING_SECONDS
from bv_search.ping import ping, ping_grpc
from bv_search.watchdog import watchdog

SETTINGS = {
    **CALM_THREADS,
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_BACKEND_LOG_LEVEL": "fatal",
    # short of memory, Ray ends the youngest processes, which fill nothing; the kernel ends the largest
    "RAY_memory_monitor_refresh_ms": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
    # of a process that dies before it has registered Ray hears by this alone; on a busy machine one takes ten
    "RAY_worker_register_timeout_seconds": "30",
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
        with _silent(), watchdog(_find_gone, _end_processes) as stop_checks:
            try:
                yield
            finally:
                stop_checks()
                ray.shutdown()
    finally:
        ray.shutdown()  # also where it was interrupted on its way up


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
    except Exception as error:  # one of its processes died on the way up, say: what Ray raises then differs
        raise BvError("Ray has died", found=error, do="start again") from error


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


@contextmanager
def _silent() -> Iterator[None]:
    """Ray tells of each process that died, on standard output; whether that matters is for us to say."""
    from ray._private import worker

    usual, worker.print_to_stdstream = worker.print_to_stdstream, lambda *_, **__: None
    try:
        yield
    finally:
        worker.print_to_stdstream = usual


def _find_gone() -> BvError | None:
    """The two processes of Ray that all others hang on, one of each machine and one of the cluster."""
    from ray._private import worker

    node = worker._global_node
    if node is None:  # a client, which has no node of its own
        return None
    try:
        with socket.socket(socket.AF_UNIX) as local:
            local.settimeout(PING_SECONDS)
            local.connect(node.raylet_socket_name)
        host, _, port = node.gcs_address.rpartition(":")
        ping(host.strip("[]"), int(port))
    except OSError as error:
        return BvError("Ray has died", found=error, do="resume what was going on: what was finished is kept")
    return None


def _end_processes() -> None:
    """All that began with this one: those of Ray that hear of nothing any more would stay for a minute."""
    import psutil  # which Ray brings along

    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            process.kill()


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
