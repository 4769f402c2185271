"""What the pages say is so: commands have these options, spaces and tasks are read, links lead somewhere."""

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from bv_search.__main__ import find_command
from bv_search.command import build_parser
from bv_search.heads.config import CONFIGS
from bv_search.space.space import parse_space
from bv_search.tasks.registry import find_task

REPOSITORY = Path(__file__).resolve().parents[2]
PAGES = sorted([*REPOSITORY.glob("*.md"), *REPOSITORY.glob("docs/*.md")])
STAND_INS = {"F": "0.3"}  # a page says what it stands for, where it is any of several
VERB = re.compile(r"bv-search [a-z]+")
DOORS = ("bv-search", "ray job", "sbatch")


def commands() -> Iterator[tuple[str, str]]:
    """Each line of a shell block that calls us, with the page that it stands on."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8").replace("\\\n", " ")
        for line in re.findall(r"^ {4}(\S.*)$", text, re.MULTILINE):
            for part in line.split("&&"):
                if (found := VERB.search(part)) and part.strip().startswith(DOORS):
                    yield page.name, part[found.start() :]


@pytest.mark.parametrize(("page", "line"), sorted(set(commands())))
def test_a_command_on_a_page_is_one(page: str, line: str) -> None:
    words = [STAND_INS.get(word, word) for word in shlex.split(line, comments=True)]
    build_parser(find_command(words[1])).parse_args(words[2:])


def test_there_are_commands_to_be_tested() -> None:
    assert {line.split()[1] for _, line in commands()} >= {
        "run",
        "finetune",
        "extract",
        "tune",
        "bench",
        "verify",
    }


def test_the_space_on_its_page_is_one() -> None:
    (block,) = re.findall(r"```yaml\n(.*?)```", (REPOSITORY / "docs/spaces.md").read_text(), re.DOTALL)
    space = parse_space(yaml.safe_load(block), "page")
    assert space.max_parameters == 50_000
    assert len(space.start) == 1


def test_the_task_on_its_page_is_one(tmp_path: Path) -> None:
    (block,) = re.findall(r"(?:^ {4}\S.*\n)+", (REPOSITORY / "docs/tasks.md").read_text(), re.MULTILINE)
    (tmp_path / "reviews.yaml").write_text("\n".join(line[4:] for line in block.splitlines()))
    assert find_task(str(tmp_path / "reviews.yaml")).labels == ("bad", "good")


def test_the_page_of_heads_has_them_all() -> None:
    text = (REPOSITORY / "docs/heads.md").read_text()
    assert re.findall(r"^\| `([a-z-]+)` \|", text, re.MULTILINE) == list(CONFIGS)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]*)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        assert not target or "://" in target or (page.parent / target).exists(), target


def test_the_way_from_tune_to_a_gradient_leads_through_files() -> None:
    text = (REPOSITORY / "CONTRIBUTING.md").read_text(encoding="utf-8")
    ways = re.findall(r"`([\w/]+(?:/|\.py))`", text.partition("file by file")[2].partition("\n- A module")[0])
    assert len(ways) > 12
    assert [step for step in ways if not (REPOSITORY / "bv_search" / step).exists()] == []


def test_the_readme_is_for_a_newcomer() -> None:
    assert len((REPOSITORY / "README.md").read_text(encoding="utf-8").split()) < 1000


def test_its_table_has_the_numbers_of_the_measurements() -> None:
    readme, all_of_it = (
        (REPOSITORY / name).read_text(encoding="utf-8") for name in ("README.md", "docs/measurements.md")
    )
    rows = re.findall(r"^\| (\S+), ([\d.]+) \|(.*)\|$", readme, re.MULTILINE)
    assert len(rows) == 9
    for name, epochs, cells in rows:
        (line,) = re.findall(rf"^\| {name}-{epochs} \|.*$", all_of_it, re.MULTILINE)
        for cell in cells.split("|"):
            assert cell.strip() in line


def test_the_pages_become_a_site(tmp_path: Path) -> None:
    """Strictly: no link, anchor or page is lost."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr + done.stdout
    assert (tmp_path / "python" / "index.html").is_file()
