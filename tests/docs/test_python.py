"""Every block of Python on the pages, and the notebook, run on a few sentence pairs and a tiny encoder."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from bv_search.cluster import ray_session
from tests.extract.conftest import write_pairs

REPOSITORY = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    with ray_session():
        yield


@pytest.fixture
def room(tiny_encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which the names on the pages are what they say."""
    (tmp_path / "glue" / "MRPC").mkdir(parents=True)
    write_pairs(tmp_path / "glue" / "MRPC")
    shutil.copytree(tiny_encoder, tmp_path / "bert-base-uncased")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def blocks(page: str) -> list[str]:
    return BLOCK.findall((REPOSITORY / page).read_text(encoding="utf-8"))


def test_the_ten_lines_of_the_readme_are_those_of_the_page() -> None:
    assert blocks("README.md") == blocks("docs/python.md")[:1]


def test_the_page_runs_from_top_to_bottom(room: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    for number, block in enumerate(blocks("docs/python.md")):
        code = block.replace("trials=32", "trials=2")
        exec(compile(code, f"docs/python.md, block {number}", "exec"), names)
    said = capsys.readouterr().out
    assert "did you mean 'adapters'?" in said
    assert "2 heads:" in said
    assert names["run"].study.trials == 4
    assert names["lines"]
    assert names["logits_NC"].shape == (8, 2)
    assert (room / "model" / "model.json").is_file()
    assert (room / "runs" / "first" / "report.html").is_file()


def test_heads_ride_along_as_their_page_says(room: Path) -> None:
    names: dict[str, Any] = {}
    exec("import bv_search as bv", names)
    (block,) = blocks("docs/riding.md")
    exec(block.replace('heads="adapters"', 'heads="adapters", trials=2'), names)
    assert len(names["run"].leaderboard()) == 2
    assert names["stage"].heads.path == Path("stages/mrpc/heads/1")


def test_the_notebook_runs(room: Path) -> None:
    notebook = nbformat.read(REPOSITORY / "docs" / "example.ipynb", as_version=4)
    assert all(not cell.get("outputs") for cell in notebook.cells), "kept without outputs"
    NotebookClient(
        notebook, timeout=240, kernel_name="python3", resources={"metadata": {"path": room}}
    ).execute()
    shown = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    assert any("<iframe" in output.get("data", {}).get("text/html", "") for output in shown)
