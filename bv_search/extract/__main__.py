"""bv-search extract: hidden states of every layer into an activation store."""

import sys

from bv_search.command import Command, Progress, Result, main
from bv_search.extract.config import ExtractConfig

EXAMPLES = """
  bv-search extract --task mrpc --encoder stages/mrpc/0.3 --data glue/MRPC --out stores/mrpc
  bv-search extract --task squad2-span --encoder stages/squad/0.3 --data squad/ --out stores/squad --workers 4
  bv-search extract --task sst2 --encoder bert-base-uncased --layers 0,6,12 --tokens mean --out s3://bucket/sst2
  the same command again goes on where it was interrupted; with --repair it redoes damaged files
"""


def run(config: ExtractConfig, progress: Progress) -> Result:
    from bv_search.extract import extraction  # with torch and Ray

    result = extraction.run(config, progress)
    return Result(text=extraction.describe(result), json=result.to_json())


COMMAND = Command(
    name="extract",
    summary="Run an encoder once over a task's data and keep the hidden states of every layer.",
    examples=EXAMPLES,
    config=ExtractConfig,
    run=run,
)

if __name__ == "__main__":
    sys.exit(main(COMMAND))
