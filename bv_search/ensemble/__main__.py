"""`bv-search ensemble RUN…`."""

import sys

from bv_search.command import Command, Progress, Result, main
from bv_search.ensemble.config import EnsembleConfig

EXAMPLES = """
  bv-search ensemble runs/first                 the best combination of the run's heads and the encoder
  bv-search ensemble runs/first runs/second     heads of two runs on one store; runs/first gets the result
  bv-search ensemble runs/first --method max    only the paper's element-wise maximum
"""


def run(config: EnsembleConfig, progress: Progress) -> Result:
    from bv_search.ensemble import ensemble  # with torch

    result = ensemble.run(config, progress)
    return Result(text=result.text(), json=result.to_json())


COMMAND = Command(
    name="ensemble",
    summary="Combine heads and encoder: chosen on select, with folds out of fold; the score is of report.",
    examples=EXAMPLES,
    config=EnsembleConfig,
    run=run,
)

if __name__ == "__main__":
    sys.exit(main(COMMAND))
