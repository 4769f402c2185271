"""`bv-search verify STORE|RUN`."""

import sys
from argparse import ArgumentParser, Namespace

from bv_search.command import Command, Progress, Result, main
from bv_search.verify import verification

EXAMPLES = """
  bv-search verify runs/first         every file against its digest; exit status 2 when one is damaged
  bv-search verify stores/squad2
"""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("place", metavar="STORE|RUN", help="a store's folder or address, or a run's folder")


def run(args: Namespace, progress: Progress) -> Result:
    return verification.run(args.place, progress).result()


COMMAND = Command(
    name="verify",
    summary="Look at every file of a store or a run: is it whole?",
    examples=EXAMPLES,
    add_arguments=add_arguments,
    run=run,
)

if __name__ == "__main__":
    sys.exit(main(COMMAND))
