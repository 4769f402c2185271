"""AWS for all hosts: python object_store.py ADDRESS PORT FLAG. While the file FLAG is there it says 503.

It runs by itself, so it imports nothing of the tests.
"""

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import run_simple

BUSY = b"<?xml version='1.0'?><Error><Code>SlowDown</Code><Message>Ask less.</Message></Error>"
Answer = Callable[..., Any]


def with_breaks(application: Callable[[Any, Answer], Iterable[bytes]], flag: Path) -> Any:
    def answer(environment: Any, start_response: Answer) -> Iterable[bytes]:
        if not flag.exists():
            return application(environment, start_response)
        start_response(
            "503 Slow Down", [("Content-Type", "application/xml"), ("Content-Length", str(len(BUSY)))]
        )
        return [] if environment["REQUEST_METHOD"] == "HEAD" else [BUSY]

    return answer


if __name__ == "__main__":
    address, port, flag = sys.argv[1:]
    moto = DomainDispatcherApplication(create_backend_app)
    run_simple(address, int(port), with_breaks(moto, Path(flag)), threaded=True)
