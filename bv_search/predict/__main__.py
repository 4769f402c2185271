"""`bv-search predict RUN|HEAD`."""

import sys

from bv_search.command import Command, Progress, Result, main
from bv_search.predict.config import PredictConfig

EXAMPLES = """
  bv-search predict runs/first                              its ensemble, or best head, on its report rows
  bv-search predict runs/first --data new.json              on new rows, with labels or without
  bv-search predict runs/first --member smallest --out answers.json
  bv-search predict runs/first --store stores/stage-1       a head on another stage's hidden states
  bv-search predict runs/first/trials/0003 --data new.tsv --out answers.tsv
"""


def run(config: PredictConfig, progress: Progress) -> Result:
    from bv_search.predict import predict  # with torch

    result = predict.run(config, progress)
    return Result(text=result.text(), json=result.to_json())


COMMAND = Command(
    name="predict",
    summary="Answer rows with a run's ensemble, its best head, or any head.",
    examples=EXAMPLES,
    config=PredictConfig,
    run=run,
)

if __name__ == "__main__":
    sys.exit(main(COMMAND))
