"""Verification finds every kind of damage in every file."""

import json
import random
from pathlib import Path

import pytest

from bv_search.command import main
from bv_search.store.__main__ import COMMAND
from bv_search.store.store import Store
from bv_search.store.verify import find_damage
from tests.store.small import make_store


def damaged(store: Store) -> list[str]:
    return [found.file for found in find_damage(Store.open(store.path)) if found is not None]


@pytest.mark.parametrize("fmt", ["npy", "parquet"])
def test_a_flipped_bit_is_found_in_every_file(tmp_path: Path, fmt: str) -> None:
    store = make_store(tmp_path / "store", format=fmt)
    rng = random.Random(0)
    assert damaged(store) == []
    for entry in store.manifest.files():
        path = tmp_path / "store" / entry.file
        whole = path.read_bytes()
        for place in {0, len(whole) - 1, *rng.sample(range(len(whole)), 8)}:
            broken = bytearray(whole)
            broken[place] ^= 1 << rng.randrange(8)
            path.write_bytes(broken)
            assert damaged(store) == [entry.file]
        path.write_bytes(whole)
    assert damaged(store) == []


def test_truncated_and_missing_files_are_found(store: Store) -> None:
    files = [entry.file for entry in store.manifest.files()]
    for file in files:
        path = Path(store.path) / file
        whole = path.read_bytes()
        path.write_bytes(whole[:-1])
        assert damaged(store) == [file]
        path.unlink()
        assert damaged(store) == [file]
        path.write_bytes(whole)


def test_the_command_names_what_is_damaged_and_exits_2(
    store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(COMMAND, ["verify", store.path, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["ok"] is True
    block = Path(store.path) / "dev/blocks/00001.npy"
    block.write_bytes(b"x" + block.read_bytes()[1:])
    assert main(COMMAND, ["verify", store.path, "--json"]) == 2
    said = json.loads(capsys.readouterr().out)
    assert said["ok"] is False
    assert [set(each) for each in said["damaged"]] == [{"file", "expected", "found"}]
    assert said["damaged"][0]["file"] == "dev/blocks/00001.npy"
    assert main(COMMAND, ["verify", store.path]) == 2
    assert "--repair" in capsys.readouterr().out


def test_a_damaged_manifest_is_one_clear_line(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    manifest = Path(store.path) / "manifest.json"
    manifest.write_bytes(manifest.read_bytes().replace(b'"windows": 72', b'"windows": 73'))
    assert main(COMMAND, ["verify", store.path]) == 2
    said = capsys.readouterr().err.strip().splitlines()
    assert len(said) == 1
    assert "manifest" in said[0]


def test_what_is_no_store_is_one_clear_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(COMMAND, ["info", str(tmp_path)]) == 2
    assert "is not a store" in capsys.readouterr().err


def test_info_says_sizes_and_the_time_of_a_pass(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(COMMAND, ["info", store.path, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["windows"] == 92
    assert said["splits"]["train"]["blocks"] == 5
    assert said["payload_bytes"] == said["stored_tokens"] * 3 * 8 * 2
    assert said["bytes"] == sum(path.stat().st_size for path in Path(store.path).rglob("*") if path.is_file())
    assert said["pass_seconds"] > 0
    assert main(COMMAND, ["info", store.path]) == 0
    assert "one pass" in capsys.readouterr().out
