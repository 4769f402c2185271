"""A search on 1 to 256 scan workers, simulated: hours, cost, from where on more gain nothing, and why."""

import os
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from bv_search.bench.cluster_rates import ClusterRates, measure_head_rows
from bv_search.bench.cluster_search import Simulated, simulate, stops_to_scale
from bv_search.bench.cluster_work import WORKS, ClusterWork
from bv_search.bench.config import BenchConfig
from bv_search.command import Progress, Result
from bv_search.store.folder import LocalFolder
from bv_search.store.info import drop_from_cache

MEASURED_TOKENS = 64  # a pack's time goes with the tokens
MEASURED_BYTES = 256 << 20
PIECE_BYTES = 4 << 20
MEASURED_TRIALS = 256


def run(asked: BenchConfig, progress: Progress) -> Result:
    texts, said = [], {}
    for name in asked.work:
        work = WORKS[name]
        rates = find_rates(asked, work, progress)
        found = []
        for workers in asked.sizes:
            progress.update(f"{name}: {workers} workers")
            found.append(simulate(work, rates, workers=workers, trials=asked.trials, pack=asked.heads))
        texts.append(table(name, work, rates, found, trials=asked.trials, pack=asked.heads))
        said[name] = {
            "rates": rates.to_json(),
            "bytes": work.bytes,
            "sizes": [each.to_json() for each in found],
        }
    return Result(text="\n\n".join(texts), json={"trials": asked.trials, "pack": asked.heads, "works": said})


def find_rates(asked: BenchConfig, work: ClusterWork, progress: Progress) -> ClusterRates:
    """What was said, else what is measured here, else a default."""
    return ClusterRates(
        head_rows=asked.head_rows or _head_rows(work, progress),
        disk=asked.disk or _disk_rate(progress),
        network=asked.network,
        object_store=asked.object_store,
        driver_seconds=asked.driver_seconds or _driver_seconds(progress),
        workers_each=asked.workers_each,
        cache=asked.cache,
        price=asked.price,
        head_price=asked.head_price,
    )


def _head_rows(work: ClusterWork, progress: Progress) -> float:
    progress.update("measuring a pack of heads")
    heads = [config.head for config in work.configs]
    tokens = min(MEASURED_TOKENS, work.tokens)
    return measure_head_rows(heads, work.shape, tokens) * tokens / work.tokens


def _disk_rate(progress: Progress) -> float:
    """Bytes a second of a file in this folder, not from the page cache."""
    progress.update("measuring the disk")
    with tempfile.TemporaryDirectory(prefix="bv-bench-", dir=Path.cwd()) as folder:
        place = LocalFolder(Path(folder))
        place.write("block", os.urandom(MEASURED_BYTES))
        drop_from_cache(place, "block")
        begun = time.perf_counter()
        with (Path(folder) / "block").open("rb", buffering=0) as file:
            while file.read(PIECE_BYTES):
                pass
        return MEASURED_BYTES / (time.perf_counter() - begun)


def _driver_seconds(progress: Progress) -> float:
    """A search of empty segments: `bench driver`."""
    from bv_search.bench.driver import measure  # with Ray and MLflow

    progress.update("measuring the driver")
    quiet = Progress(quiet=True)
    return measure(
        trials=MEASURED_TRIALS, workers=8, pack=32, searcher="random", progress=quiet
    ).seconds_a_trial


def table(
    name: str, work: ClusterWork, rates: ClusterRates, found: Sequence[Simulated], *, trials: int, pack: int
) -> str:
    lines = [
        f"{name}: {work.about}; {work.bytes / 1e12:.1f} TB of states to learn from",
        f"{trials:,} heads of `{work.space.name}` in packs of {pack}; a scan worker trains "
        f"{rates.head_rows:,.0f} head-rows/s, {rates.workers_each} on a machine",
        f"GB/s: node disk {rates.disk / 1e9:.2f}, network {rates.network / 1e9:.2f}, object store "
        f"{rates.object_store / 1e9:.1f}; node cache {rates.cache / 1e9:,.0f} GB; driver "
        f"{rates.driver_seconds:.4f} s a trial; {rates.price:g} and {rates.head_price:g} $ an hour",
        f"{'workers':>8} {'hours':>8} {'cost, $':>9} {'× 1':>6}  what their time goes to",
    ]
    lines += [_line(each, found[0]) for each in found]
    end = stops_to_scale(found)
    lines.append("more workers gain at each size" if end is None else _end(*end))
    return "\n".join(lines)


def _line(each: Simulated, first: Simulated) -> str:
    shares = sorted(each.shares.items(), key=lambda share: -share[1])
    text = ", ".join(f"{limit} {share:.0%}" for limit, share in shares if share >= 0.05)
    faster = first.seconds / each.seconds
    return f"{each.workers:>8} {each.seconds / 3600:>8.2f} {each.cost:>9,.0f} {faster:>6.1f}  {text}"


def _end(last: Simulated, more: Simulated) -> str:
    return f"beyond {last.workers} workers little is gained: of {more.workers} most waits for {more.bound}"
