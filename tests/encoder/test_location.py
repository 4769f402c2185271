import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from bv_search.encoder.location import locate_encoder
from bv_search.errors import EncoderError

COMMIT = "c0ffee" * 6 + "abcd"
Find = Callable[..., str]


class Hub(BaseHTTPRequestHandler):
    """As much of the Hub as one model needs: its commit, its files and their contents."""

    folder: Path

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        files = {file.name: file.read_bytes() for file in self.folder.iterdir()}
        if path.startswith("/api/models/me/bert/tree/"):
            self._answer([self._entry(name, data) for name, data in files.items()])
        elif path.startswith("/api/models/me/bert"):
            self._answer(
                {"id": "me/bert", "sha": COMMIT, "siblings": [{"rfilename": name} for name in files]}
            )
        elif path.startswith("/me/bert/resolve/"):
            self._send(200, files[path.rpartition("/")[2]], {"X-Repo-Commit": COMMIT})
        else:
            self._send(404, b"{}", {"X-Error-Code": "RepoNotFound"})

    do_HEAD = do_GET

    def _entry(self, name: str, data: bytes) -> dict[str, object]:
        return {"type": "file", "path": name, "size": len(data), "oid": hashlib.sha1(data).hexdigest()}

    def _answer(self, value: object) -> None:
        self._send(200, json.dumps(value).encode(), {"Content-Type": "application/json"})

    def _send(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        headers |= {"Content-Length": str(len(body)), "ETag": f'"{hashlib.sha1(body).hexdigest()}"'}
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *arguments: object) -> None: ...


@pytest.fixture
def find_on_hub(encoder_folder: Path, tmp_path: Path) -> Iterator[Find]:
    """`locate_encoder` in a process that takes this server for the Hub, whose name is read once."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("OurHub", (Hub,), {"folder": encoder_folder}))
    Thread(target=server.serve_forever, daemon=True).start()
    environment = os.environ | {
        "HF_ENDPOINT": f"http://127.0.0.1:{server.server_port}",
        "HF_HOME": str(tmp_path / "hub"),
        "HF_HUB_DISABLE_XET": "1",
    }
    program = (
        "import sys; from bv_search.encoder.location import locate_encoder\n"
        "from bv_search.errors import UserError\n"
        "try: print(*vars(locate_encoder(sys.argv[1])).values())\n"
        "except UserError as error: print(error)"
    )

    def find(name: str, *, offline: bool = False) -> str:
        command = [sys.executable, "-c", program, name]
        told = subprocess.run(
            command,
            env=environment | {"HF_HUB_OFFLINE": str(int(offline))},
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        assert told.stderr == "", "the Hub's client keeps silent"
        return told.stdout.strip()

    yield find
    server.shutdown()


def test_a_name_on_the_hub_is_fetched_and_then_found_without_a_network(
    find_on_hub: Find, encoder_folder: Path
) -> None:
    name, revision, folder = find_on_hub("me/bert").split()
    assert (name, revision) == ("me/bert", COMMIT)
    weights = (encoder_folder / "model.safetensors").read_bytes()
    assert (Path(folder) / "model.safetensors").read_bytes() == weights
    assert find_on_hub("me/bert", offline=True).split() == [name, revision, folder]


def test_a_name_that_the_hub_does_not_know_is_no_network_failure(find_on_hub: Find) -> None:
    assert find_on_hub("me/nothing") == "me/nothing: no such folder here, no such model on the Hub"


def test_a_folder_is_itself(encoder_folder: Path) -> None:
    source = locate_encoder(encoder_folder)
    assert (source.id, source.revision, source.folder) == (str(encoder_folder), None, encoder_folder)


def test_a_hub_name_without_a_network_says_at_once_to_give_a_folder() -> None:
    began = time.monotonic()
    with pytest.raises(EncoderError, match=r"^bert-large-uncased: .*HF_HUB_OFFLINE.*local folder") as caught:
        locate_encoder("bert-large-uncased")
    assert time.monotonic() - began < 5
    assert "\n" not in str(caught.value)


def test_a_path_that_does_not_exist_is_not_looked_for_on_the_hub() -> None:
    with pytest.raises(EncoderError, match="no such encoder folder"):
        locate_encoder("./stages/0.3")


def test_a_folder_without_a_config_says_what_it_holds(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing")
    with pytest.raises(EncoderError, match=r"is not an encoder; expected config.json.*found notes.txt"):
        locate_encoder(tmp_path)


def test_a_file_is_no_encoder(encoder_folder: Path) -> None:
    with pytest.raises(EncoderError, match="is a file"):
        locate_encoder(encoder_folder / "model.safetensors")
