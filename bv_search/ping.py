"""A ping to an address before it is waited for: whoever listens there must also answer, and soon."""

import os
import socket

SECONDS = 10.0
ENOUGH = 5  # bytes of an answer
SETTINGS = 4  # the kind of a frame
HTTP2 = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, SETTINGS, 0, 0, 0, 0, 0))
"""How HTTP/2, and so gRPC, begins: a preface and empty settings. A server answers with its own."""


def ping(host: str, port: int, *, greeting: bytes = b"") -> bytes:
    """The first bytes of the answer to a greeting; without one it is enough that somebody is there.

    An OSError where nobody is, or answers.
    """
    try:
        with socket.create_connection((host, port), SECONDS) as connection:
            if not greeting:
                return b""
            connection.settimeout(SECONDS)
            connection.sendall(greeting)
            answer = b""
            while len(answer) < ENOUGH and (more := connection.recv(64)):
                answer += more
            return answer
    except TimeoutError as error:
        raise TimeoutError(f"no answer within {SECONDS:g} s") from error


def ping_http(host: str, port: int) -> None:
    """Whatever a server of HTTP answers, it is one."""
    request = f"HEAD / HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n\r\n"
    if not ping(host, port, greeting=request.encode("ascii", "replace")).startswith(b"HTTP/"):
        raise ConnectionError("what answers is no server of HTTP")


def ping_grpc(host: str, port: int) -> None:
    """A server of gRPC says its settings at once."""
    answer = ping(host, port, greeting=HTTP2)
    if len(answer) < 4 or answer[3] != SETTINGS:
        raise ConnectionError("what answers is no server of gRPC")


def is_proxied(scheme: str) -> bool:
    """Whether a proxy is asked instead, which reaches what this machine cannot."""
    names = (f"{scheme}_proxy", f"{scheme.upper()}_PROXY", "all_proxy", "ALL_PROXY")
    return any(os.environ.get(name) for name in names)
