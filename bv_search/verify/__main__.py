"""`bv-search verify STORE|RUN`."""

import sys
from dataclasses import dataclass
from typing import Annotated

from bv_search.command import Command, Progress, Result, main
from bv_search.options import Option
from bv_search.verify import verification

EXAMPLES = """
  bv-search verify runs/first         every file against its digest; exit status 2 when one is damaged
  bv-search verify stores/squad2
"""


@dataclass(frozen=True, kw_only=True)
class VerifyArguments:
    place: Annotated[
        str, Option("a store's folder or address, or a run's folder", metavar="STORE|RUN", positional=True)
    ]


def run(asked: VerifyArguments, progress: Progress) -> Result:
    return verification.run(asked.place, progress).result()


COMMAND = Command(
    name="verify",
    summary="Look at every file of a store or a run: is it whole?",
    examples=EXAMPLES,
    config=VerifyArguments,
    run=run,
)

if __name__ == "__main__":
    sys.exit(main(COMMAND))
