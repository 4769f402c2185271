"""Whether MLflow is there is found out before it asks."""

import socket
from pathlib import Path

import pytest

from bv_search import ping as ping_module
from bv_search.errors import OutputError, RunError
from bv_search.run.tracking import check_there, reaching


@pytest.mark.parametrize(
    ("uri", "found"),
    [
        ("sqlite:///{folder}", "no database, but a folder or a device"),
        ("sqlite:///{folder}/nowhere/mlflow.db", "is not there, or closed to you"),
        ("http://127.0.0.1:9", "Connection refused"),
        ("http://", "MLflow cannot be reached"),
        ("http://[::", "Invalid IPv6 URL"),
        ("http://127.0.0.1:99999", "Port out of range"),
    ],
)
def test_an_address_of_nothing_is_one_line_at_once(uri: str, found: str, tmp_path: Path) -> None:
    with pytest.raises(RunError, match=found):
        check_there(uri.format(folder=tmp_path))


def test_a_password_is_not_repeated() -> None:
    with pytest.raises(RunError) as caught:
        check_there("http://me:secret@127.0.0.1:9")
    assert "secret" not in str(caught.value)


def test_a_server_that_never_answers_is_waited_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ping_module, "SECONDS", 0.2)
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        pytest.raises(RunError, match=r"no answer within 0\.2 s"),
    ):
        check_there(f"http://127.0.0.1:{server.getsockname()[1]}")


def test_nor_is_it_by_what_was_found() -> None:
    uri = "http://me:secret@127.0.0.1:9"
    with pytest.raises(RunError) as caught, reaching(uri):
        raise ConnectionError(f"API request to {uri} failed")
    assert "secret" not in str(caught.value)
    assert "API request to http://127.0.0.1:9 failed" in str(caught.value)


def test_whatever_a_client_of_mlflows_raises_is_mlflow_that_cannot_be_reached() -> None:
    class NoCredentialsError(Exception):
        """As botocore's, of no other kind."""

    told = pytest.raises(RunError, match=r"MLflow cannot be reached; found Unable to locate credentials")
    with told, reaching("http://127.0.0.1:9"):
        raise NoCredentialsError("Unable to locate credentials")
    with pytest.raises(OutputError), reaching("http://127.0.0.1:9"):
        raise OutputError("is our own")
