"""Servers that answer, that answer something else, and that say nothing."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

import pytest

from bv_search import ping as ping_module
from bv_search.ping import HTTP2, ping_grpc, ping_http


@contextmanager
def answering(answer: bytes) -> Iterator[int]:
    """A port where every greeting is answered so; with nothing, never."""

    def serve() -> None:
        connection, _ = server.accept()
        with connection:
            connection.recv(4096)
            if answer:
                connection.sendall(answer)
            else:
                over.recv(1)

    over, end = socket.socketpair()
    with socket.create_server(("127.0.0.1", 0)) as server, over, end:
        thread = Thread(target=serve)
        thread.start()
        yield server.getsockname()[1]
        end.close()
        thread.join()


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ping_module, "SECONDS", 0.2)


def test_who_answers_as_expected_is_there() -> None:
    with answering(b"HTTP/1.1 404 Not Found\r\n\r\n") as port:
        ping_http("127.0.0.1", port)
    with answering(HTTP2[24:]) as port:
        ping_grpc("127.0.0.1", port)


@pytest.mark.parametrize("call", [ping_http, ping_grpc])
def test_who_answers_something_else_is_another(call: object) -> None:
    assert callable(call)
    with (
        answering(b"220 mail.example ESMTP\r\n") as port,
        pytest.raises(ConnectionError, match="no server of"),
    ):
        call("127.0.0.1", port)


@pytest.mark.parametrize("call", [ping_http, ping_grpc])
def test_who_never_answers_is_not_waited_for_longer(call: object) -> None:
    assert callable(call)
    with answering(b"") as port, pytest.raises(TimeoutError, match=r"no answer within 0\.2 s"):
        call("127.0.0.1", port)
