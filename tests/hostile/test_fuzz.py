"""Bytes that nobody wrote by hand, led by what parts of the decoders they reach; where atheris can be had."""

import subprocess
import sys
from pathlib import Path

import pytest

RUNS = {
    "json": 30_000,
    "yaml": 30_000,
    "space": 4_000,
    "task": 4_000,
}  # inputs; the last two write a file each
SEEDS = {
    "json": b'{"a": [1, -2.5e3, "x\\u00e9\\ud83d\\ude00", true, null, {"b": {}}]}',
    "yaml": b"space: {head: {kind: adapter, size: &a [1, 2]}, learning_rate: *a}\n",
    "space": b"space:\n  head: {choice: [{kind: adapter, size: {grid: [4, 8]}}]}\n  learning_rate: 0.1\n",
    "task": b"kind: classification\nlabels: [a, b]\ncolumns: {text: t, label: l}\nmax_length: 64\n",
}
FUZZER = """
import sys
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["bv_search.document", "bv_search.tune", "bv_search.tasks"]):
    from bv_search.document import Unreadable, load_json, load_yaml
    from bv_search.errors import LONGEST, UserError
    from bv_search.tasks.own import read_own_task
    from bv_search.space.space import find_space

kind, place = sys.argv[1], Path(sys.argv[2])


def decode(data):
    path = place / "it.yaml"
    match kind:
        case "json":
            return load_json(data.decode("utf-8", "surrogateescape"))
        case "yaml":
            return load_yaml(data)
    path.write_bytes(data)
    return find_space(str(path)).typed_corners() if kind == "space" else read_own_task(path, taken={})


def answer(data):
    try:
        decode(data)
    except Unreadable as error:
        assert isinstance(error.found, str)
    except UserError as error:
        assert len(str(error)) <= LONGEST
        assert str(error).isprintable()


atheris.Setup([sys.argv[0], *sys.argv[3:]], answer)
atheris.Fuzz()
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", SEEDS)
def test_whatever_bytes_a_document_has_it_is_decoded_or_refused(kind: str, tmp_path: Path) -> None:
    pytest.importorskip("atheris", reason="atheris is not installed: the extra fuzz of this package has it")
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "seed").write_bytes(SEEDS[kind])
    (tmp_path / "fuzzer.py").write_text(FUZZER)
    words = [
        kind,
        str(tmp_path),
        f"-runs={RUNS[kind]}",
        "-timeout=10",
        "-seed=1",
        "-max_len=4096",
        str(tmp_path / "corpus"),
    ]
    done = subprocess.run(
        [sys.executable, str(tmp_path / "fuzzer.py"), *words],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr[-5000:]
    assert f"Done {RUNS[kind]} runs" in done.stderr
