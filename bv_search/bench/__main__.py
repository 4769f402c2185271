"""bv-search bench: measure a claim of the project on this machine."""

import importlib
import sys

from bv_search.bench.config import BenchConfig
from bv_search.command import Command, Progress, Result, main

EXAMPLES = """
  bv-search bench extract --encoder stages/squad/0.3 --data squad/    extraction against a bare forward loop
  bv-search bench finetune --encoder ./my-encoder --data squad/       fine-tuning against a padded loop
  bv-search bench store                                               reading against pread and HDF5
  bv-search bench scan --store stores/squad                            one pass for a pack of heads
  bv-search bench tune --store stores/squad --heads 32                the whole search, with packs and without
  bv-search bench probe --store stores/mrpc                           a search against scikit-learn and a loop
  bv-search bench precision --store stores/mrpc --heads 30            what products of 16 bits cost
  bv-search bench seeds --store stores/mrpc --rounds 20               what holds for another seed
  bv-search bench search --store stores/mrpc --space grid.yaml --table mrpc.parquet    trains a table
  bv-search bench search --table mrpc.parquet stsb.parquet --threads 2                 searches on tables
  bv-search bench store --store stores/squad                          reading a store of yours
  bv-search bench driver --trials 10000 --workers 256                 what its driver takes
  bv-search bench cluster                                             1 to 256 scan workers, simulated
  bv-search bench ride --task mrpc --encoder ./my-encoder --data MRPC  heads beside fine-tuning, or after it
"""


def run(asked: BenchConfig, progress: Progress) -> Result:
    benchmark = importlib.import_module(f"bv_search.bench.{asked.benchmark}")
    result = benchmark.run(asked.filled_in(), progress)
    assert isinstance(result, Result)
    return result


COMMAND = Command(
    name="bench",
    summary="Measure a claim of the project on this machine, next to what it is compared with.",
    examples=EXAMPLES,
    config=BenchConfig,
    run=run,
)

if __name__ == "__main__":
    sys.exit(main(COMMAND))
