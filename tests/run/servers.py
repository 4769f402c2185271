"""Real servers of MLflow, as processes of their own."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

from bv_search.ping import ping_http

PATIENCE_SECONDS = 120
Server = AbstractContextManager[Callable[[], None]]


def mlflow_server(place: Path, port: int) -> Server:
    """A tracking server; what is yielded kills it."""
    command = ["server", "--host", "127.0.0.1", "--port", str(port), "--workers", "1"]
    command += ["--backend-store-uri", f"sqlite:///{place}/mlflow.db"]
    command += ["--artifacts-destination", str(place / "artifacts")]
    return serving(command, place, port)


def model_server(uri: str, place: Path, port: int, **variables: str) -> Server:
    """A model that answers over HTTP, in this environment."""
    command = ["models", "serve", "--model-uri", uri, "--env-manager", "local"]
    return serving([*command, "--host", "127.0.0.1", "--port", str(port)], place, port, **variables)


@contextmanager
def serving(command: list[str], place: Path, port: int, **variables: str) -> Iterator[Callable[[], None]]:
    with (place / f"{command[0]}.log").open("w") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "mlflow", *command],
            start_new_session=True,
            stdout=log,
            stderr=log,
            cwd=place,
            env=os.environ | variables,
        )

    def kill() -> None:
        with suppress(ProcessLookupError):
            os.killpg(server.pid, signal.SIGKILL)
        server.wait()

    try:
        _wait_for(port)
        yield kill
    finally:
        kill()


def _wait_for(port: int) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            return ping_http("127.0.0.1", port)
        except OSError:
            assert time.monotonic() < end, "no server"
            time.sleep(0.2)
