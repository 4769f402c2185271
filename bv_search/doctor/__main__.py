"""`bv-search doctor`."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from bv_search.command import Command, Progress, Result, main
from bv_search.options import Option
from bv_search.tune.config import TuneConfig

EXAMPLES = """
  bv-search doctor            what this machine offers, and what will be chosen; exit status 2 on a complaint
  bv-search doctor --json
"""


@dataclass(frozen=True, kw_only=True)
class DoctorArguments:
    runs: Annotated[Path, Option("where runs go")] = TuneConfig.runs


def run(asked: DoctorArguments, progress: Progress) -> Result:
    from bv_search.doctor.diagnosis import diagnose  # with torch

    found = diagnose(asked.runs)
    return Result(text=str(found), json=found.to_json(), exit_status=0 if found.ok else 2)


COMMAND = Command(
    name="doctor",
    summary="Say what this machine offers, from processor to MLflow, and what will be chosen.",
    examples=EXAMPLES,
    config=DoctorArguments,
    run=run,
)

if __name__ == "__main__":
    sys.exit(main(COMMAND))
