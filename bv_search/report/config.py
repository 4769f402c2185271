"""What is asked of `report`."""

from dataclasses import dataclass
from typing import Annotated

from bv_search.options import Option


@dataclass(frozen=True, kw_only=True)
class ReportConfig:
    runs: Annotated[
        tuple[str, ...], Option("folders of runs; each gets a report", metavar="RUN", positional=True)
    ]
    data: Annotated[
        str | None, Option("show rows of it; the stores must have been made of it", metavar="PATH")
    ] = None
    together: Annotated[
        str | None,
        Option("where all runs stand side by side (default: where the first is)", metavar="FOLDER"),
    ] = None
    mlflow: Annotated[bool, Option("write the run folder only")] = True
