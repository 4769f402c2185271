"""Training heads in packs, against one after another and against the source work's way.

Every arm trains heads on the same windows of a store, and says how many head-windows it trained: one
head on one window. Arms that train heads one by one do so for a few heads spread over the pack, which is
their rate all the same. `one after another` are packs of one, through the same reader and the same kernels;
`in plain PyTorch` are heads as one writes them by hand, through the same reader; `source work's way` is those
on padded, shuffled batches from HDF5, each in a process of its own.

Of a store with one token a window all arms make whole passes, a look at select after each included, and
`plain PyTorch loop` is one adapter 64 as one writes it by hand, its rows standardised in memory.
"""

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import torch

from bv_search.bench.arms import Arm, ratio, render, take_turns
from bv_search.bench.config import BenchConfig
from bv_search.bench.hdf5 import write_padded
from bv_search.bench.loop import Loop
from bv_search.bench.paper_way import PaperWay
from bv_search.bench.plain import train_plain
from bv_search.command import AUTO, Progress, Result
from bv_search.errors import UserError
from bv_search.heads.branches.product import product
from bv_search.precision import choose_precision
from bv_search.scan.batch import Batch, batches, widen
from bv_search.scan.learner import Learner
from bv_search.scan.order import parts, pass_length
from bv_search.scan.outcome import Start
from bv_search.scan.pack_trainer import PackTrainer
from bv_search.scan.scanner import Scanner
from bv_search.scan.segment import TrainingData, train_segment
from bv_search.scan.state import HeadState
from bv_search.scan.trial import TrialConfig
from bv_search.space.space import find_space, parse_space
from bv_search.store.layout import MICRO_BATCH
from bv_search.store.store import Store
from bv_search.tune.searchers import SEARCHERS

CPU = torch.device("cpu")
ROOFS = {"roof: matmul": torch.float32, "roof: matmul, bfloat16": torch.bfloat16}
SAMPLE = 4  # heads trained one by one
PASSES = 4  # over a store of one token a window, in an arm's turn

POOLINGS = {
    "space": {
        "head": {"kind": "pooling", "pooling": {"choice": ["learned", "average"]}},
        "learning_rate": {"loguniform": [1e-4, 1e-2]},
    }
}
SHARED = {
    "space": {
        "head": {"kind": "adapter", "size": {"choice": [16, 32, 64]}, "skip": {"choice": [True, False]}},
        "learning_rate": {"loguniform": [1e-4, 1e-2]},
    }
}
LIGHT = {
    "space": {
        "head": {
            "choice": [
                {"kind": "linear", "channels": "all"},
                {"kind": "pooling", "pooling": {"choice": ["learned", "average"]}},
            ]
        },
        "learning_rate": {"loguniform": [1e-4, 1e-2]},
        "batch": 128,
    }
}


@dataclass(frozen=True, kw_only=True)
class ScanGround:
    """What all arms train on: the first windows of a store."""

    scanner: Scanner
    store: Store
    data: TrainingData  # as packs read it: at the precision that is measured
    wide: TrainingData  # of 32 bits, as plain PyTorch reads it
    windows: int

    @property
    def stop(self) -> int:
        return self.windows // MICRO_BATCH

    def heads(self, space: Any, number: int, **settings: Any) -> list[HeadState]:
        """Random points of a space, none of them trained."""
        searcher = SEARCHERS["random"](parse_space(space, "bench"), 0)
        configs = [searcher.space.config(searcher.ask(str(n)) or {}) for n in range(number)]
        starts = [TrialConfig.from_json({**config, **settings}) for config in configs]
        return [self.scanner.fresh(Start(trial=str(n), config=each)) for n, each in enumerate(starts)]


def run(asked: BenchConfig, progress: Progress) -> Result:
    store = Store.open(asked.required_store)
    one_token = store.manifest.one_token
    if not store.manifest.keeps_blocks or not (store.task.per_token or one_token):
        raise UserError(
            "is not a store to scan here",
            where=asked.required_store,
            expected="hidden states of a span task, or of one token a window",
            found=store.task.name if store.manifest.keeps_blocks else "a store of --format none",
        )
    scanner = Scanner(store.path, threads=asked.threads)
    state = scanner.fresh(Start(trial="", config=TrialConfig.from_json({"head": {"kind": "pooling"}})))
    wide = scanner.training_data([state])
    choice = choose_precision(asked.precision, CPU, product)
    scanner.use_precision(choice.precision)
    data = scanner.training_data([state])
    windows = min(asked.windows, data.rows.split.windows) // MICRO_BATCH * MICRO_BATCH
    ground = ScanGround(scanner=scanner, store=store, data=data, wide=wide, windows=windows)
    measure = _measure_passes if one_token else _measure_windows
    said, ratios = measure(ground, asked, progress)
    said |= {arm: each.to_json() for arm, each in _roofs(asked.rounds, progress).items()}
    text = f"{asked.heads} heads, {asked.threads} threads; packs: {choice}\n{render(said, ratios)}"
    return Result(text=text, json={"arms": said, "ratios": ratios, "precision": choice.precision})


Measurement = tuple[dict[str, Any], dict[str, float]]


def _measure_passes(ground: ScanGround, asked: BenchConfig, progress: Progress) -> Measurement:
    """Of a store with one token a window."""
    loop, numbers = Loop(ground.store), count()
    length = pass_length(ground.data.rows.split.windows)
    families = {"classification": find_space("classification").document, "poolings and linear": LIGHT}

    def train(heads: Sequence[HeadState]) -> float:
        train_segment(ground.data, heads, PASSES * length)
        return float(PASSES * len(heads))

    def run_loop() -> float:
        for _ in range(PASSES):
            loop.run_pass(next(numbers))
        return float(PASSES)

    arms: dict[str, Arm] = {"plain PyTorch loop": run_loop}
    for name, space in families.items():
        heads = ground.heads(space, asked.heads, passes=AUTO, patience=PASSES + 1)
        arms[f"{name}: pack"] = partial(train, heads)
        arms[f"{name}: one after another"] = partial(_one_by_one, heads, train)
    measured = take_turns(arms, unit="head-passes", rounds=asked.rounds, progress=progress)
    ratios = {}
    for name in families:
        for other in ("plain PyTorch loop", f"{name}: one after another"):
            ratios[f"{name}: pack / {other}"] = ratio(measured, f"{name}: pack", other)
    return {arm: each.to_json() for arm, each in measured.items()}, ratios


def _one_by_one(heads: Sequence[HeadState], train: Callable[[Sequence[HeadState]], float]) -> float:
    return sum(train([head]) for head in _few(heads))


def _few(heads: Sequence[HeadState]) -> Sequence[HeadState]:
    return heads[:: max(1, len(heads) // SAMPLE)]


def _measure_windows(ground: ScanGround, asked: BenchConfig, progress: Progress) -> Measurement:
    """Of a store with all tokens."""
    families = {
        "pooling": ground.heads(POOLINGS, asked.heads, passes=1),
        "shared adapters": ground.heads(SHARED, asked.heads, passes=1),
        "adapters": ground.heads(find_space("adapters").document, asked.heads, passes=1),
    }
    said: dict[str, Any] = {}
    ratios: dict[str, float] = {}
    for name, heads in families.items():
        with tempfile.TemporaryDirectory(prefix="bv-bench-", dir=Path.cwd()) as folder:
            arms = _arms(name, heads, ground, Path(folder))
            measured = take_turns(arms, unit="head-windows", rounds=asked.rounds, progress=progress)
        said |= {arm: each.to_json() for arm, each in measured.items()}
        packed = f"{name}: pack"
        ratios |= {f"{packed} / {arm}": ratio(measured, packed, arm) for arm in measured if arm != packed}
    ratios["share of time waiting for data"] = round(_waiting(families["adapters"], ground), 4)
    return said, ratios


def _arms(name: str, heads: Sequence[HeadState], ground: ScanGround, folder: Path) -> dict[str, Arm]:
    few = _few(heads)
    arms: dict[str, Arm] = {
        f"{name}: pack": lambda: _train(heads, ground),
        f"{name}: one after another": lambda: sum(_train([head], ground) for head in few),
        f"{name}: one after another, in plain PyTorch": lambda: _each(few, ground, partial(_plain, ground)),
        f"{name}: the same under autocast": lambda: _each(few, ground, partial(_plain_narrow, ground)),
        f"{name}: one read, no fusing": lambda: _plain_loop(heads, ground),
    }
    if name == "adapters":
        paper_way = _paper_way(ground, folder)
        arms[f"{name}: source work's way"] = lambda: _each(few, ground, paper_way.train_apart)
        arms[f"{name}: source work's way, in one process"] = lambda: _each(few, ground, paper_way.train)
    return arms


def _each(heads: Sequence[HeadState], ground: ScanGround, train: Callable[[HeadState], None]) -> float:
    for head in heads:
        train(head)
    return float(len(heads) * ground.windows)


def _train(heads: Sequence[HeadState], ground: ScanGround) -> float:
    train_segment(ground.data, heads, ground.stop)
    return float(len(heads) * ground.windows)


def _plain(ground: ScanGround, head: HeadState) -> None:
    train_plain(head, _through_reader(ground.wide, ground), ground.data.labels_ND, ground.data.kind)


def _plain_narrow(ground: ScanGround, head: HeadState) -> None:
    with torch.autocast("cpu", torch.bfloat16):
        _plain(ground, head)


def _through_reader(data: TrainingData, ground: ScanGround) -> Iterator[Batch]:
    return batches(data.rows.split, _plan(ground), data.rows.wanted)


def _plain_loop(heads: Sequence[HeadState], ground: ScanGround) -> float:
    """for batch: for head."""
    standard = ground.data.standard
    learners = [Learner.attach(h, windows=ground.windows, standard=standard, device=CPU) for h in heads]
    trainers = [PackTrainer(learner.copies, ground.data.kind) for learner in learners]
    for batch in _through_reader(ground.data, ground):
        labels_ND = torch.from_numpy(ground.data.labels_ND[batch.windows])
        for trainer in trainers:
            trainer.learn(batch, labels_ND)
    return float(len(heads) * ground.windows)


def _plan(ground: ScanGround) -> list[Any]:
    windows = ground.data.rows.split.block_windows
    return list(parts(windows, rows=ground.windows, start=0, stop=ground.stop, seed=0))


def _paper_way(ground: ScanGround, folder: Path) -> PaperWay:
    """With its file: every window padded to the task's maximum, in float32."""
    layers, width = ground.store.manifest.shape
    path = folder / "padded.h5"
    write_padded(path, _windows(ground), (ground.windows, layers, ground.store.task.max_length, width))
    threads = torch.get_num_threads()
    return PaperWay(file=path, labels_ND=ground.data.labels_ND, kind=ground.data.kind, threads=threads)


def _windows(ground: ScanGround) -> Iterator[np.ndarray]:
    for block in ground.data.rows.split.read(_plan(ground)):
        ends = np.cumsum(block.lengths)
        for start, end in zip(ends - block.lengths, ends, strict=True):
            yield widen(block.hidden_LTH[:, start:end], CPU).numpy()


def _waiting(heads: Sequence[HeadState], ground: ScanGround) -> float:
    """How much of a pack's pass is spent in asking for blocks."""
    started = time.perf_counter()
    _train(heads, ground)
    whole = time.perf_counter() - started
    started = time.perf_counter()
    for _ in ground.data.rows.split.read(_plan(ground)):
        pass
    return (time.perf_counter() - started) / whole


def _roofs(rounds: int, progress: Progress) -> Any:
    """What the machine can do at most: wide matmuls, one on every core, and a pass over memory."""
    threads = torch.get_num_threads()
    left, right = torch.randn(4096, 384), torch.randn(1024, 384)
    block = torch.zeros(1 << 26, dtype=torch.float32)

    def multiply(dtype: torch.dtype, _: int) -> float:
        narrow = left.to(dtype)
        for _ in range(20):
            product(narrow, right)
        return 20.0 * 2 * 4096 * 384 * 1024

    def memory() -> float:
        block.add_(1.0)
        return 2.0 * block.nbytes

    with ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,)) as pool:
        arms: dict[str, Arm] = {
            name: lambda dtype=dtype: sum(pool.map(partial(multiply, dtype), range(threads)))  # type: ignore[misc]
            for name, dtype in ROOFS.items()
        }
        flops = take_turns(arms, unit="flop", rounds=rounds, progress=progress)
    return flops | take_turns({"roof: memory": memory}, unit="bytes", rounds=rounds, progress=progress)
