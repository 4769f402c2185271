"""`bv-search VERB …`, the same as `python -m bv_search.VERB …`."""

import importlib
import sys
from collections.abc import Sequence
from typing import Any

from bv_search.command import Command, prepare_streams, tell
from bv_search.command import main as run_command
from bv_search.errors import OutputError, UnknownName

# a command is imported only when asked for: torch and Ray take seconds
COMMANDS = {
    "run": "go through all steps below, from data to a report and a model to serve",
    "finetune": "fine-tune an encoder and keep it at fractions of an epoch",
    "extract": "write a stage's hidden states into a store",
    "tune": "search for the best head on a store",
    "ensemble": "combine heads of a run with the encoder",
    "report": "write what runs found as HTML and Markdown",
    "predict": "answer new rows with a head, a run or an ensemble",
    "export": "write a model of a run as a folder to publish",
    "verify": "look at every file of a store or a run",
    "store": "tell what is in a store",
    "doctor": "say what this machine offers, and what will be chosen",
    "study": "how little fine-tuning, data and head is enough: all studies of the source work",
    "bench": "measure a claim of the project on this machine",
}


def main(argv: Sequence[str] | None = None) -> int:
    arguments = list(sys.argv[1:] if argv is None else argv)
    prepare_streams()
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        return help_out(0 if arguments else 2)
    verb, *rest = arguments
    if verb not in COMMANDS:
        error = UnknownName("command", verb, COMMANDS, do="see bv-search --help")
        sys.stderr.write(f"bv-search: {error}\n")
        return error.exit_status
    return run_command(find_command(verb), rest)


def help_out(exit_status: int) -> int:
    try:
        return exit_status if tell(usage()) else 1
    except OutputError as error:
        sys.stderr.write(f"bv-search: {error}\n")
        return error.exit_status


def find_command(verb: str) -> Command[Any]:
    command = importlib.import_module(f"bv_search.{verb}.__main__").COMMAND
    assert isinstance(command, Command)
    return command


def usage() -> str:
    width = max(map(len, COMMANDS))
    lines = [f"  {verb:<{width}}  {summary}" for verb, summary in COMMANDS.items()]
    return "\n".join(
        [
            "usage: bv-search VERB [options]        (bv-search VERB --help has examples)",
            "",
            *lines,
            "",
            "first time here?  bv-search tune --space adapters",
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
