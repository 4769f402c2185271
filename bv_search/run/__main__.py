"""`bv-search run verify RUN`."""

import sys
from argparse import ArgumentParser, Namespace
from dataclasses import asdict
from pathlib import Path

from bv_search.command import Command, Progress, Result, main
from bv_search.files import RESTORE
from bv_search.run.folder import Run
from bv_search.run.verify import RunDamage, count_files, find_damage

EXAMPLES = """
  bv-search run verify runs/first      every file against its digest; exit status 2 when one is damaged
"""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("action", choices=["verify"], help="what to do")
    parser.add_argument("run", metavar="RUN", help="a run's folder")


def run(args: Namespace, progress: Progress) -> Result:
    return verify(Run.open(Path(args.run)), progress)


def verify(run: Run, progress: Progress) -> Result:
    damaged: list[RunDamage] = []
    total = count_files(run)
    for number, found in enumerate(find_damage(run), start=1):
        progress.update(f"verified {number} of {total} files")
        if found is not None:
            damaged.append(found)
    lines = [f"{each.file}: expected {each.expected}; found {each.found}" for each in damaged]
    if damaged:
        lines.append(f"what is damaged: {RESTORE}")
    json = {
        "ok": not damaged,
        "run": str(run.path),
        "files": total,
        "damaged": [asdict(each) for each in damaged],
    }
    text = "\n".join(lines) or f"{run.path}: {total} files, all as the journal says"
    return Result(text=text, json=json, exit_status=2 if damaged else 0)


COMMAND = Command(
    name="run",
    summary="Look at a run: is it whole?",
    examples=EXAMPLES,
    add_arguments=add_arguments,
    run=run,
)

if __name__ == "__main__":
    sys.exit(main(COMMAND))
