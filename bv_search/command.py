"""What all commands share: parsing, progress, the JSON line, exit statuses."""

import atexit
import errno
import gc
import json
import logging
import os
import signal
import sys
import tempfile
import time
import traceback
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from io import TextIOWrapper
from pathlib import Path
from threading import current_thread, main_thread
from typing import Any, Generic, Literal, NoReturn, TextIO

from bv_search.errors import BvError, OutputError, UserError
from bv_search.options import Config, add_options, fill

AUTO: Literal["auto"] = "auto"  # what an option says that leaves the choice to the program

PLAIN_INTERVAL_SECONDS = 5.0

# waiting threads sleep: where others want the cores too, spinning made training four to eight times slower
CALM_THREADS = {"OMP_WAIT_POLICY": "PASSIVE"}

CHATTY = ("matplotlib",)  # tell at length of a home that cannot be written, and do without


DENIED = ("permission denied", "choose another place, or have its owner let you in")
FULL = ("cannot be written: no space is left", "free some, then do it again: what was finished is kept")
UNUSABLE = {
    errno.EACCES: DENIED,
    errno.EPERM: DENIED,
    errno.ENAMETOOLONG: ("name too long for a disk", "give a shorter one"),
    errno.ELOOP: ("links that lead to each other", "give a path that leads somewhere"),
    errno.EROFS: ("cannot be written: the disk is only read", "choose another place"),
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EFBIG), FULL),
}
"""Path errors that are the user's to fix, and what to do."""


class Progress:
    """Progress on standard error: one live line on a terminal, plain lines elsewhere, nothing when quiet."""

    def __init__(self, *, quiet: bool = False, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._quiet = quiet
        self._live = self._stream.isatty()
        self._last = 0.0
        self._text = ""
        self._open = False

    def say(self, text: str) -> None:
        """A line that stays."""
        if self._quiet:
            return
        self._close()
        print(text, file=self._stream, flush=True)

    def update(self, text: str) -> None:
        """A line that the next one replaces; on a plain stream one every few seconds."""
        if self._quiet:
            return
        now = time.monotonic()
        if self._live:
            self._stream.write(f"\r\x1b[2K{text}")
            self._stream.flush()
            self._open = True
        elif text != self._text and now - self._last >= PLAIN_INTERVAL_SECONDS:
            self._last, self._text = now, text
            print(text, file=self._stream, flush=True)

    def _close(self) -> None:
        if self._open:
            self._stream.write("\r\x1b[2K")
            self._open = False

    def close(self) -> None:
        if not self._quiet:
            self._close()
            self._stream.flush()


@dataclass(frozen=True, kw_only=True)
class Result:
    """What a command has to say: text for a reader, one object for a program."""

    text: str
    json: Mapping[str, Any]
    exit_status: int = 0


@dataclass(frozen=True, kw_only=True)
class Command(Generic[Config]):
    """A verb: what it may be asked for, and what it does then."""

    name: str
    summary: str
    examples: str
    config: type[Config]  # its fields are the options
    run: Callable[[Config, Progress], Result]
    parts: Mapping[str, "Command[Any]"] = field(
        default_factory=dict
    )  # commands of its own, by their first word


class _Parser(ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UserError(message, do=f"see {self.prog} --help")

    def print_help(self, file: Any = None) -> None:
        tell(self.format_help().rstrip("\n"))


def build_parser(command: Command[Any]) -> ArgumentParser:
    parser = _Parser(
        prog=f"bv-search {command.name}",
        description=command.summary,
        epilog=f"examples:\n{command.examples.strip(chr(10))}",
        formatter_class=RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add_options(parser, command.config)
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    parser.add_argument("--quiet", action="store_true", help="no progress on standard error")
    return parser


class Terminated(KeyboardInterrupt):
    """SIGTERM, as schedulers of jobs send it before they kill: an interrupt by another name."""


EXIT_STATUS = {KeyboardInterrupt: 130, Terminated: 143}


def main(command: Command[Any], argv: Sequence[str] | None = None) -> int:
    """Run a command; exit status 0 done, 2 the user's input, 1 our failure, 130 or 143 interrupted."""
    words = list(sys.argv[1:] if argv is None else argv)
    if words and words[0] in command.parts:
        command, argv = command.parts[words[0]], words[1:]
    for name, value in CALM_THREADS.items():  # before anything imports torch, which reads it once
        os.environ.setdefault(name, value)
    prepare_streams()
    provide_home()
    atexit.register(gc.freeze)  # Python would look through all modules for garbage once more, for a second
    progress = Progress(quiet=False)
    try:
        with terminable():
            args = build_parser(command).parse_args(argv)
            progress = Progress(quiet=args.quiet)
            result = command.run(fill(command.config, args), progress)
            progress.close()
            return _say(result, as_json=args.json)
    except BvError as error:
        progress.close()
        _complain(command, str(error))
        return error.exit_status
    except KeyboardInterrupt as error:
        progress.close()
        word = "terminated" if isinstance(error, Terminated) else "interrupted"
        _complain(command, f"{word}; finished work is kept")
        return EXIT_STATUS[type(error)]
    except Exception as error:
        progress.close()
        if (refusal := _unusable(error)) is not None:
            _complain(command, str(refusal))
            return refusal.exit_status
        if sys.stderr is not None:
            traceback.print_exc()
        _complain(command, "our failure, not yours: the lines above say where")
        return 1


def _complain(command: Command[Any], line: str) -> None:
    with suppress(OSError):  # where nobody can hear it, the exit status says it
        print(f"bv-search {command.name}: {line}", file=sys.stderr, flush=True)


def prepare_streams() -> None:
    """Whatever the locale says; what is no text is spelled out. A stream that was closed swallows all.

    Libraries that would speak unasked are told not to, before they are imported.
    """
    for name in CHATTY:
        logging.getLogger(name).setLevel(logging.ERROR)
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123 - for good
        elif isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def provide_home() -> None:
    """Libraries ask for one while they are imported; a container may have neither HOME nor users."""
    try:
        Path.home()
    except RuntimeError:
        os.environ["HOME"] = tempfile.gettempdir()


@contextmanager
def terminable() -> Iterator[None]:
    """SIGTERM inside as an interrupt, once; those that follow do not break the tidying up."""
    usual = signal.getsignal(signal.SIGTERM)
    if current_thread() is not main_thread() or usual is not signal.SIG_DFL:
        yield
        return
    came = False

    def answer(number: int, frame: Any) -> None:
        nonlocal came
        came = True
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise Terminated

    signal.signal(signal.SIGTERM, answer)
    try:
        yield
    except KeyboardInterrupt as error:
        if came:  # Ray, where it waits, raises an interrupt of its own in place of ours
            raise Terminated from error
        raise
    finally:
        signal.signal(signal.SIGTERM, usual)


@contextmanager
def signals_held() -> Iterator[None]:
    """An interrupt comes after the block: what is half begun could not be ended."""
    if current_thread() is not main_thread():
        yield
        return
    came: list[int] = []
    usual = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    held = [number for number, handler in usual.items() if callable(handler)]
    for number in held:
        signal.signal(number, lambda number, frame: came.append(number))
    try:
        yield
    finally:
        for number in held:
            signal.signal(number, usual[number])
    if came:
        signal.raise_signal(came[0])


def _unusable(error: Exception) -> UserError | None:
    """Any look at a path can end so: even `Path.exists` raises where a folder may not be entered."""
    if isinstance(error, OSError) and error.errno in UNUSABLE:
        what, do = UNUSABLE[error.errno]
        return UserError(what, where=error.filename or error, do=do)
    if isinstance(error, ValueError) and "null byte" in str(error):
        return UserError("is no place", found="a zero byte in a path", do="write the path out")
    return None


def _say(result: Result, *, as_json: bool) -> int:
    heard = tell(json.dumps(result.json, allow_nan=False) if as_json else result.text)
    return result.exit_status if heard else 1


def tell(text: str) -> bool:
    """On standard output; False where whoever listened has heard enough."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        _drop_output()
        return False
    except OSError as error:
        _drop_output()
        raise OutputError(
            "cannot be written",
            where="standard output",
            found=error.strerror or error,
            do="what was to be done is done; only the words are lost",
        ) from error
    return True


def _drop_output() -> None:
    """What is left in its buffer would be tried again at the end, and fail with a traceback."""
    sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123 - for good
