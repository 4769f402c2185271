"""What a search would cost, before anything is spent."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from bv_search.errors import UserError
from bv_search.heads.config import HeadConfig, HeadShape, check_fit, fits
from bv_search.heads.config.published import published_percent
from bv_search.heads.head import Head
from bv_search.heads.pack import Pack
from bv_search.run.trial import percent_of
from bv_search.scan.course import Course
from bv_search.scan.store_view import head_shape, learned_split
from bv_search.scan.trial import TrialConfig
from bv_search.source import LIVE
from bv_search.source.choice import choose_source
from bv_search.store.layout import MICRO_BATCH
from bv_search.store.store import Store
from bv_search.tasks.row import Role
from bv_search.tune.config import TuneConfig
from bv_search.tune.sizes import Sizes, count
from bv_search.tune.space import Space
from bv_search.tune.study import (
    check_heads,
    check_names,
    choose_finalists,
    choose_folds,
    choose_searcher,
    choose_seeds,
    count_trials,
    load_space,
    open_store,
)

BERT_LARGE_PARAMETERS = 335_141_888  # what `percent` is of, where a shape stands in for a store
MOST_LAYERS, WIDEST = 1_000, 1 << 17
LISTED = 40  # heads shown as text


@dataclass(frozen=True, kw_only=True)
class HeadSize:
    name: str
    config: HeadConfig
    parameters: int  # of all its copies
    percent: float
    published: float | None  # percent, in the paper
    fits: bool  # under the limit, if there is one

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "parameters": self.parameters,
            "percent": self.percent,
            "published_percent": self.published,
            "fits": self.fits,
        }

    def line(self, width: int) -> str:
        published = "" if self.published is None else f"  (published: {self.published:g} %)"
        above = "" if self.fits else "  (above the limit)"
        return f"  {self.name:{width}}  {self.parameters:>12,}  {self.percent:8.4f} %{published}{above}"


@dataclass(frozen=True, kw_only=True)
class DryRun:
    space: Space
    trials: int
    folds: int
    heads: tuple[HeadSize, ...]
    cost: dict[str, Any]

    def to_json(self) -> dict[str, Any]:
        heads = [head.to_json() for head in self.heads]
        return {"heads": heads, "trials": self.trials, "folds": self.folds, "cost": self.cost}

    def __str__(self) -> str:
        lines = [f"space {self.space.name}: {self.space.about}", f"{len(self.heads)} heads:"]
        if self.space.max_parameters is not None:
            fitting = sum(head.fits for head in self.heads)
            each = " a copy" if self.folds > 1 else ""
            limit = f"{self.space.max_parameters:,} parameters{each}"
            lines[-1] = f"{fitting} of {len(self.heads)} heads have at most {limit}:"
        width = max(len(head.name) for head in self.heads)
        lines += [head.line(width) for head in self.heads[:LISTED]]
        if len(self.heads) > LISTED:
            lines.append(f"  … and {len(self.heads) - LISTED} more (all in --json)")
        lines.append(f"{self.trials} trials" + (f" of {self.folds} copies each" if self.folds > 1 else ""))
        lines += [f"{name.replace('_', ' ')}: {value:,}" for name, value in self.cost.items()]
        return "\n".join(lines)


def dry_run(config: TuneConfig, shape: str | None) -> DryRun:
    check_names(config)
    space = load_space(config)
    configs = space.typed_corners()
    if shape is not None:
        stand_in = find_shape(shape, [config.head for config in configs])
        folds = config.folds or 1
        sizes = Sizes(space, stand_in)
        sizes.check()
        heads = measure_heads(configs, stand_in, BERT_LARGE_PARAMETERS, folds, space.max_parameters)
        trials = count_trials(config, sizes)
        return DryRun(space=space, trials=trials, folds=folds, heads=heads, cost={})
    store = open_store(config.store, config)
    space = load_space(config, one_token=store.manifest.one_token)
    configs = space.typed_corners()
    check_heads(space, store)
    live = choose_source(config.source, store).source == LIVE
    searcher = choose_searcher(config, space)
    folds = choose_folds(config, searcher, store)
    finale = choose_finalists(config, searcher, folds) * choose_seeds(config, folds)
    own = head_shape(store)
    heads = measure_heads(configs, own, store.encoder_parameters, folds, space.max_parameters)
    trials = count_trials(config, Sizes(space, own))
    fitting = [head for head in heads if head.fits]
    cost = estimate(store, configs, fitting, trials, folds=folds, finale=finale, live=live)
    return DryRun(space=space, trials=trials, folds=folds, heads=heads, cost=cost)


def find_shape(text: str, heads: Sequence[HeadConfig]) -> HeadShape:
    """LxH in place of a store: of spans where every head answers for tokens, else of two classes."""
    layers, cross, width = text.partition("x")
    few = all(part.isdecimal() and len(part) < 8 for part in (layers, width))
    if not cross or not few or not (0 < int(layers) <= MOST_LAYERS and 0 < int(width) <= WIDEST):
        raise UserError(
            "bad --shape",
            expected="LAYERSxWIDTH, such as 25x1024",
            found=repr(text),
        )
    spans = HeadShape(layers=int(layers), width=int(width), outputs=2, per_token=True)
    classes = replace(spans, per_token=False)
    shape = spans if all(fits(head, spans) for head in heads) else classes
    for head in heads:
        check_fit(head, shape)
    return shape


def measure_heads(
    configs: Sequence[TrialConfig], shape: HeadShape, encoder_parameters: int, copies: int, limit: int | None
) -> tuple[HeadSize, ...]:
    """Each head of a space once, in the space's order."""
    sizes = []
    for head in dict.fromkeys(config.head for config in configs):
        own = count(head, shape)
        parameters = copies * own
        percent = percent_of(parameters, encoder_parameters) or 0.0
        published = published_percent(head, shape)
        sizes.append(
            HeadSize(
                name=head.name,
                config=head,
                parameters=parameters,
                percent=percent,
                published=published,
                fits=limit is None or own <= limit,
            )
        )
    return tuple(sizes)


def estimate(
    store: Store,
    configs: Sequence[TrialConfig],
    heads: Sequence[HeadSize],
    trials: int,
    *,
    folds: int,
    finale: int,
    live: bool,
) -> dict[str, Any]:
    """Bytes and seconds for one pack of the space's average head, by a few measured micro-batches."""
    windows = learned_split(store, folds=folds).windows
    roles = (Role.TRAIN,) if folds == 1 else (Role.TRAIN, Role.SELECT)
    entries = [split.entry for role in roles for split in store.splits(role)]
    courses = [Course.of(config.training, windows) for config in configs]
    passes = float(np.mean([course.passes * course.rows for course in courses])) / windows
    parameters = float(np.mean([head.parameters for head in heads]))
    batches = passes * windows / MICRO_BATCH
    predictions = sum(s.entry.tokens for role in ("select", "report") for s in store.splits(role))
    tokens = sum(entry.tokens for entry in entries)
    encoded = sum(entry.encoded_tokens for entry in entries)
    reading = {"bytes_to_read_per_pack": round(passes * tokens * store.manifest.token_bytes)}
    encoding = {"tokens_to_encode_per_pack": round(passes * encoded)}
    return {
        **(encoding if live else reading),
        "bytes_to_write": round(trials * 4 * (parameters + predictions * store.task.outputs)),
        "estimated_seconds": round((folds * trials + finale) * batches * _seconds_per_batch(store, heads), 1),
    }


def _seconds_per_batch(store: Store, heads: Sequence[HeadSize]) -> float:
    train = store.splits("train")[0]
    tokens = max(1, round(train.entry.tokens / train.windows))
    return batch_seconds([size.config for size in heads], head_shape(store), tokens)


def batch_seconds(heads: Sequence[HeadConfig], shape: HeadShape, tokens: int) -> float:
    """Of one head in a pack: forward and backward of a sample of these heads on made-up numbers."""
    lengths_N = torch.full((MICRO_BATCH,), tokens)
    hidden_LTH = torch.randn(shape.layers, MICRO_BATCH * tokens, shape.width)
    sample = [heads[n] for n in np.linspace(0, len(heads) - 1, min(8, len(heads)), dtype=int)]
    pack = Pack([Head(config, shape).initialise(0) for config in sample])
    for _ in range(2):  # the first one pays for what is made once
        begun = time.perf_counter()
        torch.autograd.backward(torch.stack([out.sum() for out in pack({None: hidden_LTH}, lengths_N)]).sum())
        seconds = time.perf_counter() - begun
    return seconds / len(sample)
