"""A search does not wait for an MLflow that went away."""

import socket
from pathlib import Path

import pytest

from bv_search import ping as ping_module
from bv_search.run.mlflow_watch import MlflowWatch


def test_a_lookout_says_when_it_is_back(tmp_path: Path) -> None:
    place = tmp_path / "away"
    watch = MlflowWatch(f"sqlite:///{place}/mlflow.db")
    assert not watch.sees(wait=10.0)
    place.mkdir()
    assert watch.sees(wait=10.0)


def test_a_watch_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        monkeypatch.setattr(ping_module, "SECONDS", 0.5)
        watch = MlflowWatch(f"http://127.0.0.1:{server.getsockname()[1]}")
        assert not watch.sees()
        assert not watch.sees(wait=10.0), "nobody answered"
