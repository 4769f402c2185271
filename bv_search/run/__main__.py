"""`bv-search run`: from data to a run's report and a model to serve, all steps in one folder."""

import sys

from bv_search.command import Command, Progress, Result, main
from bv_search.pipeline.config import PipelineConfig
from bv_search.verify.__main__ import COMMAND as VERIFY

EXAMPLES = """
  bv-search run --task mrpc --encoder bert-base-uncased --data glue/MRPC --out mine
  bv-search run --task ./reviews.yaml --encoder ./my-encoder --data reviews/ --space classification --out mine
  the same command again goes on where it was interrupted; with more --trials it searches on
"""


def run(config: PipelineConfig, progress: Progress) -> Result:
    from bv_search.pipeline import pipeline  # with torch and Ray

    done = pipeline.run(config, progress)
    return Result(text=str(done), json=done.to_json())


COMMAND = Command(
    name="run",
    summary="Go through all steps: finetune, extract, tune, ensemble, report, and a model to serve.",
    examples=EXAMPLES,
    config=PipelineConfig,
    run=run,
    parts={"verify": VERIFY},
)

if __name__ == "__main__":
    sys.exit(main(COMMAND))
