import re
import subprocess
import sys
from pathlib import Path

import pytest

from bv_search.__main__ import COMMANDS, find_command, main
from bv_search.command import build_parser

PACKAGE = Path(__file__).resolve().parents[1] / "bv_search"


def test_every_package_with_a_command_is_listed() -> None:
    assert sorted(COMMANDS) == sorted(file.parent.name for file in PACKAGE.glob("*/__main__.py"))


@pytest.mark.parametrize("verb", COMMANDS)
def test_every_command_helps_with_examples_that_its_parser_takes(verb: str) -> None:
    lines = [line.strip() for line in find_command(verb).examples.strip().splitlines()]
    examples = [line for line in lines if line.startswith("bv-search ")]
    assert examples[0].startswith(f"bv-search {verb} ")
    for line in examples:
        _, command, *words = re.split(r"\s{2,}", line)[0].split()  # two blanks set a remark off
        build_parser(find_command(command)).parse_args(words)


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    for verb, summary in COMMANDS.items():
        assert f"  {verb} " in shown
        assert summary in shown


def test_no_command_is_a_question_of_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "usage:" in capsys.readouterr().out


def test_an_unknown_command_gets_the_nearest_and_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["extrakt"]) == 2
    line = capsys.readouterr().err
    assert len(line.splitlines()) == 1
    assert "did you mean 'extract'?" in line
    assert "finetune" in line


def test_a_verb_takes_its_own_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["store", "--help"])
    assert ended.value.code == 0
    assert "usage: bv-search store" in capsys.readouterr().out


def test_listing_the_commands_imports_neither_torch_nor_ray() -> None:
    code = (
        "import sys; from bv_search.__main__ import main; main(['--help']); "
        "sys.exit(bool({'torch', 'ray', 'transformers'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode == 0
