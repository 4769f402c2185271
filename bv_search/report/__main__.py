"""`bv-search report RUN…`."""

import sys

from bv_search.command import Command, Progress, Result, main
from bv_search.report.config import ReportConfig

EXAMPLES = """
  bv-search report runs/first               runs/first/report.html and report.md
  bv-search report runs/first --data glue/MRPC    with the texts of rows that only one model gets right
  bv-search report runs/a runs/b            one for each, and runs/results.html: all heads side by side
  bv-search report runs/a runs/b --together docs   docs/results.html, with results.md and results.svg
"""


def run(config: ReportConfig, progress: Progress) -> Result:
    from bv_search.report import report  # with torch

    result = report.run(config, progress)
    return Result(text=result.text(), json=result.to_json())


COMMAND = Command(
    name="report",
    summary="Write a run's report: what was searched, what was found, how far it can be trusted.",
    examples=EXAMPLES,
    config=ReportConfig,
    run=run,
)

if __name__ == "__main__":
    sys.exit(main(COMMAND))
