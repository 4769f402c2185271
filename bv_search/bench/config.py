"""What is asked of `bench`."""

from dataclasses import dataclass, replace
from typing import Annotated, Self

from bv_search.bench.cluster_work import WORKS
from bv_search.command import AUTO
from bv_search.errors import UserError
from bv_search.options import Option
from bv_search.precision import PRECISIONS
from bv_search.words import positive_int, positive_number, size

BENCHMARKS = {
    "scan": "training a pack of heads against one head after another",
    "tune": "the whole command with packs of heads against one head at a time",
    "probe": "a search against scikit-learn's linear models and an adapter in a PyTorch loop",
    "precision": "scores of heads that learn by products of 16 bits, against those of 32",
    "seeds": "whether a search with another seed finds what one announced, with folds and without",
    "search": "searchers, schedulers and generations against random search, on tables of trained heads",
    "finetune": "fine-tuning against a loop that pads to the task's maximum, in 32 bits",
    "ride": "heads that ride along with fine-tuning against fine-tuning, extraction and a search",
    "extract": "extraction against a bare forward loop over the same batches",
    "driver": "what a search takes in its driver, by trial and part, and its memory",
    "cluster": "a search on 1 to 256 scan workers, simulated by measured rates",
    "store": "reading a store against pread of its bytes, and against HDF5 in random batches",
}

ROUNDS = 3
REPLAYED = ("random", "hyperopt", "optuna", "optuna-gp")
TRIALS = {"probe": 32, "seeds": 32, "driver": 1000, "cluster": 1024}

EXTRACT = "extract, finetune, ride"
PASSES = "extract, finetune, ride, scan"
THREADS = "extract, finetune, ride, scan, probe, precision, search"
SCAN = "ride, scan, tune, precision, search, driver, cluster"
PROBE = "probe, seeds, driver, cluster"
STORE = "store, scan, tune, probe, precision, seeds, search"
SEARCH = "ride, search"
DRIVER = "driver"
CLUSTER = "cluster; by default rates are measured on this machine, if they can be"
READING = "store"


@dataclass(frozen=True, kw_only=True)
class BenchConfig:
    """Rates and prices of a cluster are those of g6.4xlarge and m7i.2xlarge, on demand."""

    benchmark: Annotated[str, Option("what to measure", choices=sorted(BENCHMARKS), positional=True)]
    rounds: Annotated[
        int,
        Option(
            f"every arm once in each; of precision, a seed each (default: {ROUNDS}; probe: 1)",
            read=positive_int,
        ),
    ] = 0
    task: Annotated[str, Option("whose windows", group=EXTRACT)] = "squad2-span"
    encoder: Annotated[
        str | None, Option("a stage, a transformers folder, or a name on the Hub", group=EXTRACT)
    ] = None
    data: Annotated[
        str | None,
        Option("local folder or file of the task", metavar="PATH", group=EXTRACT),
    ] = None
    batch_tokens: Annotated[
        int | None, Option("of one forward pass (default: 1024)", read=positive_int, group=EXTRACT)
    ] = None
    fraction: Annotated[float, Option("of an epoch, for ride", group=EXTRACT)] = 1.0
    windows: Annotated[int, Option("of a round", read=positive_int, group=PASSES)] = 480
    threads: Annotated[
        int,
        Option(
            "of an arm; a whole search takes all cores; of search, processes",
            read=positive_int,
            group=THREADS,
        ),
    ] = 1
    precision: Annotated[
        str, Option("of packs, for scan and ride", choices=(AUTO, *PRECISIONS), group=SCAN)
    ] = AUTO
    heads: Annotated[int, Option("of a pack", read=positive_int, group=SCAN)] = 32
    trials: Annotated[
        int,
        Option(
            f"of a search (default: {', '.join(f'{name} {count}' for name, count in TRIALS.items())})",
            read=positive_int,
            group=PROBE,
        ),
    ] = 0
    store: Annotated[
        str | None,
        Option("for scan, of a span task (default for store: a synthetic one)", metavar="STORE", group=STORE),
    ] = None
    table: Annotated[
        tuple[str, ...], Option("of trained heads; --store makes one", metavar="FILE", group=SEARCH)
    ] = ()
    space: Annotated[
        str | None,
        Option("of a table that is trained, of choices alone; of heads", metavar="SPACE", group=SEARCH),
    ] = None
    seeds: Annotated[int, Option("of each way to search", read=positive_int, group=SEARCH)] = 50
    budget: Annotated[
        int,
        Option("rows of a search, in heads that are trained to their ends", read=positive_int, group=SEARCH),
    ] = 64
    searchers: Annotated[
        tuple[str, ...], Option("that are replayed", metavar="NAME", choices=REPLAYED, group=SEARCH)
    ] = REPLAYED
    generations: Annotated[
        tuple[int, ...], Option("heads under way at once", read=positive_int, count="+", group=SEARCH)
    ] = (1, 4, 8, 16, 32)
    plot: Annotated[str | None, Option("draw regrets against rows", metavar="FILE.svg", group=SEARCH)] = None
    workers: Annotated[int, Option("scan workers that learn nothing", read=positive_int, group=DRIVER)] = 256
    searcher: Annotated[str, Option("the searcher that proposes", choices=REPLAYED, group=DRIVER)] = "random"
    work: Annotated[
        tuple[str, ...], Option("what is searched (default: all)", choices=tuple(WORKS), group=CLUSTER)
    ] = tuple(WORKS)
    sizes: Annotated[tuple[int, ...], Option("scan workers", read=positive_int, count="+", group=CLUSTER)] = (
        tuple(1 << power for power in range(9))
    )
    head_rows: Annotated[
        float | None,
        Option(
            "rows times heads that a worker trains in a second",
            metavar="N",
            read=positive_number,
            group=CLUSTER,
        ),
    ] = None
    disk: Annotated[
        int | None, Option("bytes a second from a machine's node cache", read=size, group=CLUSTER)
    ] = None
    network: Annotated[int, Option("bytes a second of a machine's network", read=size, group=CLUSTER)] = size(
        "3.1GB"
    )
    object_store: Annotated[
        int,
        Option("bytes a second of object storage, to all machines together", read=size, group=CLUSTER),
    ] = size("25GB")
    driver_seconds: Annotated[
        float | None, Option("of a trial in the driver", read=positive_number, metavar="S", group=CLUSTER)
    ] = None
    workers_each: Annotated[int, Option("of a machine", read=positive_int, group=CLUSTER)] = 1
    cache: Annotated[int, Option("node cache of a machine", read=size, group=CLUSTER)] = size("400GB")
    price: Annotated[
        float, Option("of a machine, $ an hour", read=positive_number, metavar="$", group=CLUSTER)
    ] = 1.32
    head_price: Annotated[
        float, Option("of the one that drives", read=positive_number, metavar="$", group=CLUSTER)
    ] = 0.4
    amount: Annotated[int, Option("read in a round", read=size, group=READING)] = size("1GB")

    @property
    def required_store(self) -> str:
        if not self.store:
            raise UserError(
                f"bench {self.benchmark} needs a store", expected="--store STORE", do="make one with extract"
            )
        return self.store

    @property
    def required_encoder(self) -> str:
        if not self.encoder:
            raise UserError(
                f"bench {self.benchmark} needs an encoder",
                expected="--encoder, a stage, a transformers folder, or a name on the Hub",
            )
        return self.encoder

    def filled_in(self) -> Self:
        """With what a benchmark takes where nothing was asked for."""
        rounds = 1 if self.benchmark == "probe" else ROUNDS  # a whole search is long
        return replace(
            self, rounds=self.rounds or rounds, trials=self.trials or TRIALS.get(self.benchmark, 0)
        )
