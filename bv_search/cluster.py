"""Ray for the verbs that distribute: the cluster that RAY_ADDRESS names, or a quiet one of this machine."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager

LOOPBACK = "127.0.0.1"
"""Ray's servers listen on every interface unless the node's own address is this one."""

SETTINGS = {
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_BACKEND_LOG_LEVEL": "fatal",
    "RAY_USAGE_STATS_ENABLED": "0",
}


@contextmanager
def ray_session() -> Iterator[None]:
    """Ray inside; what was started here ends here, what was there before stays."""
    for name, value in SETTINGS.items():
        os.environ.setdefault(name, value)
    import ray

    if ray.is_initialized():
        yield
        return
    with _native_stderr_closed():
        if os.environ.get("RAY_ADDRESS"):
            ray.init(logging_level=logging.ERROR, log_to_driver=False)
        else:
            ray.init(
                address="local",
                include_dashboard=False,
                log_to_driver=False,
                logging_level=logging.ERROR,
                _node_ip_address=LOOPBACK,
            )
    try:
        yield
    finally:
        ray.shutdown()


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
