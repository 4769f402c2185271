import io
import json
import os
import shlex
import signal
import subprocess
import sys
from dataclasses import dataclass, replace
from typing import Annotated, Any

import pytest

from bv_search.command import (
    Command,
    Progress,
    Result,
    Terminated,
    main,
    signals_held,
    terminable,
)
from bv_search.errors import BvError, DataError
from bv_search.options import Option
from bv_search.words import fraction, positive_int


@dataclass(frozen=True, kw_only=True)
class Counting:
    count: Annotated[int, Option("how far", read=positive_int)] = 1
    share: Annotated[float, Option("of it", read=fraction)] = 1.0


def count(asked: Counting, progress: Progress) -> Result:
    progress.say(f"counting to {asked.count}")
    return Result(text=f"counted {asked.count}", json={"count": asked.count})


def failing(failure: BaseException) -> Command[Any]:
    def fail(asked: Counting, progress: Progress) -> Result:
        raise failure

    return Command(name="fail", summary="Fail.", examples="", config=Counting, run=fail)


COUNT = Command(
    name="count",
    summary="Count.",
    examples="\n  bv-search count --count 3\n",
    config=Counting,
    run=count,
)


def test_a_command_may_have_commands_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    whole = failing(AssertionError("not asked for"))
    with_part = replace(whole, parts={"count": COUNT})
    assert main(with_part, ["count", "--count", "3", "--quiet"]) == 0
    assert capsys.readouterr().out == "counted 3\n"


def test_text_goes_to_standard_output_and_progress_to_standard_error(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(COUNT, ["--count", "3"]) == 0
    shown = capsys.readouterr()
    assert shown.out == "counted 3\n"
    assert shown.err == "counting to 3\n"


def test_json_is_one_object_alone_on_the_last_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(COUNT, ["--count", "3", "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1]) == {"count": 3}


def test_quiet_says_nothing_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(COUNT, ["--quiet"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["--count", "0"], "--count"),
        (["--count", "many"], "--count"),
        (["--share", "1.5"], "--share"),
        (["--share", "nan"], "--share"),
        (["--counts", "3"], "--counts"),
        (["--cou", "3"], "--cou"),
    ],
)
def test_wrong_arguments_are_one_line_and_status_2(
    argv: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(COUNT, argv) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert says in shown.err
    assert len(shown.err.splitlines()) == 1


def test_help_has_examples(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(COUNT, ["--help"])
    assert ended.value.code == 0
    assert "bv-search count --count 3" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("failure", "status", "says"),
    [
        (DataError("is empty", where="dev.json"), 2, "bv-search fail: dev.json: is empty\n"),
        (
            PermissionError(13, "Permission denied", "/root/stage"),
            2,
            "bv-search fail: /root/stage: permission denied; "
            "choose another place, or have its owner let you in\n",
        ),
        (
            OSError(36, "File name too long", "x" * 300),
            2,
            f"bv-search fail: {'x' * 300}: name too long for a disk; give a shorter one\n",
        ),
        (BvError("lost a worker"), 1, "bv-search fail: lost a worker\n"),
        (KeyboardInterrupt(), 130, "bv-search fail: interrupted; finished work is kept\n"),
        (Terminated(), 143, "bv-search fail: terminated; finished work is kept\n"),
        (
            OSError(40, "Too many levels of symbolic links", "a/b"),
            2,
            "bv-search fail: a/b: links that lead to each other; give a path that leads somewhere\n",
        ),
    ],
    ids=["the user's", "a closed folder", "a long name", "ours", "interrupted", "terminated", "a circle"],
)
def test_every_end_has_its_status_and_one_line(
    failure: BaseException, status: int, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(failing(failure), []) == status
    assert capsys.readouterr().err == says


def test_a_bug_shows_where_it_happened_and_says_that_it_is_ours(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(failing(ZeroDivisionError("division by zero")), []) == 1
    shown = capsys.readouterr().err
    assert "Traceback" in shown
    assert "our failure, not yours" in shown.splitlines()[-1]


def test_a_number_that_json_cannot_hold_is_our_failure(capsys: pytest.CaptureFixture[str]) -> None:
    def run(asked: Counting, progress: Progress) -> Result:
        return Result(text="", json={"score": float("nan")})

    broken = Command(name="nan", summary="", examples="", config=Counting, run=run)
    assert main(broken, ["--json"]) == 1
    assert capsys.readouterr().out == ""


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_on_a_terminal_updates_replace_each_other_and_lines_stay() -> None:
    stream = Terminal()
    progress = Progress(stream=stream)
    progress.update("step 1")
    progress.update("step 2")
    progress.say("done")
    assert stream.getvalue().split("\r\x1b[2K") == ["", "step 1", "step 2", "done\n"]


def test_on_a_plain_stream_updates_come_seldom_and_lines_always() -> None:
    stream = io.StringIO()
    progress = Progress(stream=stream)
    for step in range(4):
        progress.update(f"step {step}")
    progress.say("done")
    assert stream.getvalue() == "step 0\ndone\n"


def test_sigterm_is_an_interrupt_once() -> None:
    def work(asked: Counting, progress: Progress) -> Result:
        try:
            signal.raise_signal(signal.SIGTERM)
        finally:
            signal.raise_signal(signal.SIGTERM)  # while it tidies up
        return Result(text="", json={})

    command = Command(name="work", summary="", examples="", config=Counting, run=work)
    assert main(command, []) == 143
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_sigterm_is_told_from_ctrl_c_by_whatever_interrupt_it_surfaces() -> None:
    """Ray, where it waits, raises a plain one of its own."""

    def wait() -> None:
        try:
            signal.raise_signal(signal.SIGTERM)
        except KeyboardInterrupt:
            raise KeyboardInterrupt from None

    with pytest.raises(Terminated), terminable():
        wait()
    with pytest.raises(KeyboardInterrupt) as ctrl_c, terminable():
        raise KeyboardInterrupt
    assert not isinstance(ctrl_c.value, Terminated)


def test_signals_that_are_held_come_after_the_block() -> None:
    reached = []

    def work(asked: Counting, progress: Progress) -> Result:
        with signals_held():
            signal.raise_signal(signal.SIGTERM)
            reached.append("the end of the block")
        reached.append("what follows")
        return Result(text="", json={})

    command = Command(name="work", summary="", examples="", config=Counting, run=work)
    assert main(command, []) == 143
    assert reached == ["the end of the block"]


@pytest.mark.parametrize("words", [["--help"], ["store", "--help"], []])
def test_output_that_cannot_be_written_is_one_line(words: list[str]) -> None:
    command = [sys.executable, "-m", "bv_search", *words]
    with open("/dev/full", "w") as full:  # noqa: PTH123
        ended = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert ended.returncode == 2
    assert len(ended.stderr.splitlines()) == 1
    assert "standard output: cannot be written; found No space left on device" in ended.stderr


def test_closed_output_is_no_failure() -> None:
    command = f"exec {shlex.quote(sys.executable)} -m bv_search --help >&- 2>&-"
    assert subprocess.run(["sh", "-c", command], check=False).returncode == 0


def test_words_beyond_the_locale_are_written_as_utf8() -> None:
    program = """
import sys
from dataclasses import make_dataclass
from bv_search.command import Command, Result, main
run = lambda asked, progress: Result(text="1 \\u00d7 2 \\udcff", json={})
sys.exit(main(Command(name="x", summary="", examples="", config=make_dataclass("Nothing", []), run=run), []))
"""
    settings = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, env=settings, check=False)
    assert (ended.returncode, ended.stdout) == (0, "1 × 2 \\udcff\n".encode())
