"""One command looks at whatever stands at a place."""

import json
from pathlib import Path

import pytest

from bv_search.command import main
from bv_search.store.layout import MANIFEST
from bv_search.verify.__main__ import COMMAND
from tests.store.small import make_store


def test_a_store_is_looked_at(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = make_store(tmp_path / "store")
    assert main(COMMAND, [store.path]) == 0
    assert capsys.readouterr().out.endswith("files, all as the manifest says\n")
    block = tmp_path / "store" / "dev/blocks/00001.npy"
    block.write_bytes(b"x" + block.read_bytes()[1:])
    assert main(COMMAND, [store.path, "--json"]) == 2
    said = json.loads(capsys.readouterr().out)
    assert (said["ok"], said["store"]) == (False, store.path)
    assert [each["file"] for each in said["damaged"]] == ["dev/blocks/00001.npy"]


def test_a_damaged_manifest_is_called_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = make_store(tmp_path / "store")
    manifest = tmp_path / "store" / MANIFEST
    manifest.write_bytes(manifest.read_bytes()[:-9])
    assert main(COMMAND, [store.path]) == 2
    assert "manifest is damaged" in capsys.readouterr().err


@pytest.mark.parametrize("what", ["nothing", "folder"])
def test_a_place_with_neither_is_one_line(
    what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "folder").mkdir()
    assert main(COMMAND, [str(tmp_path / what)]) == 2
    line = capsys.readouterr().err
    assert line.count("\n") == 1
    assert "is neither a store nor a run; expected a folder with manifest.json or journal.jsonl" in line
