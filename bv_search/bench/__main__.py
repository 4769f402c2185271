"""bv-search bench: measure a claim of the project on this machine."""

import importlib
import sys
from argparse import ArgumentParser, Namespace

from bv_search.bench.cluster_work import WORKS
from bv_search.command import AUTO, Command, Progress, Result, main, positive_int, size
from bv_search.precision import PRECISIONS

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
"""

BENCHMARKS = {
    "scan": "training a pack of heads against one head after another",
    "tune": "the whole command with packs of heads against one head at a time",
    "probe": "a search against scikit-learn's linear models and an adapter in a PyTorch loop",
    "precision": "scores of heads that learn by products of 16 bits, against those of 32",
    "seeds": "whether a search with another seed finds what one announced, with folds and without",
    "search": "searchers, schedulers and generations against random search, on tables of trained heads",
    "finetune": "fine-tuning against a loop that pads to the task's maximum, in 32 bits",
    "extract": "extraction against a bare forward loop over the same batches",
    "driver": "what a search takes in its driver, by trial and part, and its memory",
    "cluster": "a search on 1 to 256 scan workers, simulated by measured rates",
    "store": "reading a store against pread of its bytes, and against HDF5 in random batches",
}

ROUNDS = 3
REPLAYED = ("random", "hyperopt", "optuna", "optuna-gp")
GENERATIONS = (1, 4, 8, 16, 32)
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
TRIALS = {"probe": 32, "seeds": 32, "driver": 1000, "cluster": 1024}


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("benchmark", choices=sorted(BENCHMARKS), help="what to measure")
    parser.add_argument(
        "--rounds",
        type=positive_int,
        help=f"every arm once in each; of precision, a seed each (default: {ROUNDS}; probe: 1)",
    )
    extract = parser.add_argument_group("extract, finetune")
    extract.add_argument("--task", default="squad2-span", help="whose windows (default: %(default)s)")
    extract.add_argument("--encoder", help="a stage, a transformers folder, or a name on the Hub")
    extract.add_argument("--data", metavar="PATH", help="local folder or file of the task")
    extract.add_argument("--batch-tokens", type=positive_int, help="of one forward pass (default: 1024)")
    passes = parser.add_argument_group("extract, finetune, scan")
    passes.add_argument("--windows", type=positive_int, default=480, help="of a round (default: %(default)s)")
    threads = parser.add_argument_group("extract, finetune, scan, probe, precision, search")
    threads.add_argument(
        "--threads",
        type=positive_int,
        default=1,
        help="a whole search has them all; processes of replays (default: %(default)s)",
    )
    scan = parser.add_argument_group("scan, tune, precision, search, driver, cluster")
    scan.add_argument(
        "--precision",
        default=AUTO,
        choices=(AUTO, *PRECISIONS),
        help="of packs, for scan (default: %(default)s)",
    )
    scan.add_argument("--heads", type=positive_int, default=32, help="of a pack (default: %(default)s)")
    probe = parser.add_argument_group("probe, seeds, driver, cluster")
    counts = ", ".join(f"{name} {count}" for name, count in TRIALS.items())
    probe.add_argument("--trials", type=positive_int, help=f"of a search (default: {counts})")
    store = parser.add_argument_group("store, scan, tune, probe, precision, seeds, search")
    store.add_argument(
        "--store", metavar="STORE", help="for scan, of a span task (default for store: a synthetic one)"
    )
    search = parser.add_argument_group("search")
    search.add_argument("--table", nargs="+", metavar="FILE", help="of trained heads; --store makes one")
    search.add_argument(
        "--space", metavar="SPACE", help="of a table that is trained, of choices alone; of heads"
    )
    search.add_argument(
        "--seeds", type=positive_int, default=50, help="of each way to search (default: %(default)s)"
    )
    search.add_argument(
        "--budget",
        type=positive_int,
        default=64,
        metavar="N",
        help="rows of a search, in heads that are trained to their ends (default: %(default)s)",
    )
    search.add_argument(
        "--searchers",
        nargs="+",
        metavar="NAME",
        choices=REPLAYED,
        default=REPLAYED,
        help="that are replayed (default: %(default)s)",
    )
    search.add_argument(
        "--generations",
        nargs="+",
        metavar="N",
        type=positive_int,
        default=GENERATIONS,
        help="heads under way at once (default: %(default)s)",
    )
    search.add_argument("--plot", metavar="FILE.svg", help="draw regrets against rows")
    driver = parser.add_argument_group("driver")
    driver.add_argument(
        "--workers", type=positive_int, default=256, help="that learn nothing (default: %(default)s)"
    )
    driver.add_argument(
        "--searcher", default="random", choices=REPLAYED, help="that proposes (default: %(default)s)"
    )
    _add_cluster(parser)
    reading = parser.add_argument_group("store")
    reading.add_argument(
        "--megabytes", type=positive_int, default=1024, help="read in a round (default: %(default)s)"
    )


def _add_cluster(parser: ArgumentParser) -> None:
    """Rates of a cluster; prices are those of g6.4xlarge and m7i.2xlarge, on demand."""
    cluster = parser.add_argument_group(
        "cluster; by default rates are measured on this machine, if they can be"
    )
    cluster.add_argument(
        "--work", nargs="+", choices=WORKS, default=list(WORKS), help="what is searched (default: all)"
    )
    cluster.add_argument(
        "--sizes", nargs="+", metavar="N", type=positive_int, default=SIZES, help="scan workers"
    )
    cluster.add_argument(
        "--head-rows", type=_rate, metavar="N", help="rows times heads that a worker trains in a second"
    )
    cluster.add_argument("--disk", type=size, metavar="SIZE", help="a second of a machine's node cache")
    cluster.add_argument(
        "--network", type=size, metavar="SIZE", default=3_100_000_000, help="a second (default: 3.1GB)"
    )
    cluster.add_argument(
        "--object-store",
        type=size,
        metavar="SIZE",
        default=25_000_000_000,
        help="a second, to all machines together (default: 25GB)",
    )
    cluster.add_argument("--driver-seconds", type=_rate, metavar="S", help="of a trial in the driver")
    cluster.add_argument(
        "--workers-each", type=positive_int, default=1, help="of a machine (default: %(default)s)"
    )
    cluster.add_argument(
        "--cache",
        type=size,
        metavar="SIZE",
        default=400_000_000_000,
        help="node cache of a machine (default: 400GB)",
    )
    cluster.add_argument(
        "--price", type=_rate, default=1.32, help="of a machine, $ an hour (default: %(default)s)"
    )
    cluster.add_argument(
        "--head-price", type=_rate, default=0.4, help="of the one that drives (default: %(default)s)"
    )


def _rate(text: str) -> float:
    value = float(text)
    if not 0.0 < value < float("inf"):
        raise ValueError(text)
    return value


_rate.__name__ = "number above 0"


def run(args: Namespace, progress: Progress) -> Result:
    benchmark = importlib.import_module(f"bv_search.bench.{args.benchmark}")
    args.trials = args.trials or TRIALS.get(args.benchmark)
    args.rounds = args.rounds or (1 if args.benchmark == "probe" else ROUNDS)  # a whole search is long
    result = benchmark.run(args, progress)
    assert isinstance(result, Result)
    return result


COMMAND = Command(
    name="bench",
    summary="Measure a claim of the project on this machine, next to what it is compared with.",
    examples=EXAMPLES,
    add_arguments=add_arguments,
    run=run,
)

if __name__ == "__main__":
    sys.exit(main(COMMAND))
