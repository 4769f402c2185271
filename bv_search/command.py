"""What all commands share: parsing, progress, the JSON line, exit statuses."""

import errno
import json
import os
import re
import sys
import time
import traceback
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn, TextIO

from bv_search.errors import BvError, UserError

PLAIN_INTERVAL_SECONDS = 5.0

# waiting threads sleep: where others want the cores too, spinning made training four to eight times slower
CALM_THREADS = {"OMP_WAIT_POLICY": "PASSIVE"}


DENIED = ("permission denied", "choose another place, or have its owner let you in")
UNUSABLE = {
    errno.EACCES: DENIED,
    errno.EPERM: DENIED,
    errno.ENAMETOOLONG: ("name too long for a disk", "give a shorter one"),
}
"""What a place can be at the first look at it, and what to do."""


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
class Command:
    """A verb: its options, and what it does with them."""

    name: str
    summary: str
    examples: str
    add_arguments: Callable[[ArgumentParser], None]
    run: Callable[[Namespace, Progress], Result]


class _Parser(ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UserError(message, do=f"see {self.prog} --help")


def build_parser(command: Command) -> ArgumentParser:
    parser = _Parser(
        prog=f"bv-search {command.name}",
        description=command.summary,
        epilog=f"examples:\n{command.examples.strip(chr(10))}",
        formatter_class=RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    command.add_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    parser.add_argument("--quiet", action="store_true", help="no progress on standard error")
    return parser


def main(command: Command, argv: Sequence[str] | None = None) -> int:
    """Run a command; exit status 0 done, 2 the user's input, 1 our failure, 130 interrupted."""
    for name, value in CALM_THREADS.items():  # before anything imports torch, which reads it once
        os.environ.setdefault(name, value)
    progress = Progress(quiet=False)
    try:
        args = build_parser(command).parse_args(argv)
        progress = Progress(quiet=args.quiet)
        result = command.run(args, progress)
        progress.close()
        return _say(result, as_json=args.json)
    except BvError as error:
        progress.close()
        print(f"bv-search {command.name}: {error}", file=sys.stderr)
        return error.exit_status
    except KeyboardInterrupt:
        progress.close()
        print(f"bv-search {command.name}: interrupted; finished work is kept", file=sys.stderr)
        return 130
    except Exception as error:
        progress.close()
        if isinstance(error, OSError) and error.errno in UNUSABLE:
            print(f"bv-search {command.name}: {_unusable(error)}", file=sys.stderr)
            return UserError.exit_status
        traceback.print_exc()
        print(f"bv-search {command.name}: our failure, not yours: the lines above say where", file=sys.stderr)
        return 1


def _unusable(error: OSError) -> UserError:
    """Any look at a path can end so: even `Path.exists` raises where a folder may not be entered."""
    what, do = UNUSABLE[error.errno or 0]
    return UserError(what, where=error.filename or error, do=do)


def _say(result: Result, *, as_json: bool) -> int:
    try:
        print(json.dumps(result.json, allow_nan=False) if as_json else result.text, flush=True)
    except BrokenPipeError:  # whoever listened has heard enough
        return 1
    return result.exit_status


def positive_int(text: str) -> int:
    value = int(text)
    if value < 1:
        raise ValueError(text)
    return value


def fraction(text: str) -> float:
    value = float(text)
    if not 0.0 < value <= 1.0:
        raise ValueError(text)
    return value


def size(text: str) -> int:
    match = re.fullmatch(r"(\d+(?:\.\d+)?) ?([kMGT]?)(i?)B", text, re.IGNORECASE)
    if match is None or float(match[1]) <= 0:
        raise ValueError(text)
    return int(float(match[1]) * (1024 if match[3] else 1000) ** " kmgt".index(match[2].lower() or " "))


size.__name__ = "size such as 512MB or 2GB"
positive_int.__name__ = "whole number above zero"
fraction.__name__ = "number above 0 and up to 1"
