"""Somebody who never answers."""

import socket
from collections.abc import Iterator

import pytest


@pytest.fixture
def silent() -> Iterator[str]:
    """A port that accepts, and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"
