"""Filling a table: every point of its space is trained to its end, pack by pack.

The table is written after every pack, and what stands in it is not trained again.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

import numpy as np

from bv_search.bench.arms import take_turns
from bv_search.bench.table import Learned, Table, TableGround, key_of, read_table
from bv_search.command import Progress
from bv_search.errors import DataError, SpaceError
from bv_search.scan.checks import Check
from bv_search.scan.outcome import Final, SegmentResult, Start
from bv_search.scan.scanner import Scanner
from bv_search.scan.store_view import train_split
from bv_search.scan.trial import TrialConfig
from bv_search.store.store import Store
from bv_search.tune.packing import Packer, Rungs, WaitingHead
from bv_search.tune.space import Config, Space

SIZES = (1, 4, 16, 32)  # of packs whose time is taken
STEPS = {True: 256, False: 16}  # micro-batches of such a pack, by whether windows are one token


def fill(path: Path, store: Store, space: Space, *, pack: int, threads: int, progress: Progress) -> Table:
    if not space.is_finite():
        raise SpaceError("has no end of points", where=space.name, expected="choices alone")
    table = _begun(path, _ground(store, space))
    scanner = Scanner(store.path, threads=threads)
    rungs = table.rungs(halving=True)
    missing = table.missing
    for first in range(0, len(missing), pack):
        progress.update(f"{len(table.learned)} of {len(table.learned) + len(missing) - first} points trained")
        learned = train(scanner, rungs, missing[first : first + pack])
        table = replace(table, learned={**table.learned, **{key_of(each.config): each for each in learned}})
        table.write(path)
    if not table.rates:
        table = replace(table, rates=_measure(scanner, table, progress))
        table.write(path)
    return table


def _ground(store: Store, space: Space) -> TableGround:
    train = train_split(store)
    return TableGround(
        name=store.task.name,
        store=store.digest,
        space=space.document,
        windows=train.windows,
        one_token=store.manifest.one_token,
    )


def _begun(path: Path, ground: TableGround) -> Table:
    if not path.exists():
        return Table(ground=ground, learned={})
    table = read_table(path)
    for name, value in asdict(ground).items():
        if (found := getattr(table.ground, name)) != value:
            raise DataError(
                f"has another {name}", where=path, expected=value, found=found, do="name another file"
            )
    return table


def train(scanner: Scanner, rungs: Rungs, configs: Sequence[Config]) -> list[Learned]:
    """One pack of heads to their ends."""
    heads = [
        WaitingHead(trial=str(number), config=TrialConfig.from_json(config), position=0)
        for number, config in enumerate(configs)
    ]
    found: dict[str, list[Check]] = {head.trial: [] for head in heads}
    states: dict[str, bytes] = {}
    pool = Packer(rungs, len(heads))
    for head in heads:
        pool.park(head)
    while orders := pool.next_round(1):
        (order,) = orders
        begun = [states.pop(head.trial, Start(trial=head.trial, config=head.config)) for head in order.heads]
        outcomes = scanner.segment(begun, order.stop, score=order.score)
        for head, outcome in zip(order.heads, outcomes, strict=True):
            if outcome.state is None:
                continue  # it diverged
            states[head.trial] = outcome.state
            found[head.trial] += _worths(outcome, found[head.trial])
            if not outcome.has_learned and outcome.position < rungs.course(head.config).end:
                pool.park(replace(head, position=outcome.position))
    finals = {each.trial: each for each in scanner.final(list(states.values())) if isinstance(each, Final)}
    return [
        _learned(config, found[str(number)], finals.get(str(number))) for number, config in enumerate(configs)
    ]


def _worths(outcome: SegmentResult, before: Sequence[Check]) -> Iterator[Check]:
    """Every gain on the way, and what it is worth where the segment ends."""
    best = before[-1] if before else None
    for check in outcome.checks:
        if best is None or check.rank > best.rank:
            best = check
            yield check
    if outcome.found is not None and (best is None or best.position < outcome.position):
        yield replace(outcome.found, position=outcome.position, rows=outcome.rows)


def _learned(config: Config, found: Sequence[Check], final: Final | None) -> Learned:
    if final is None:
        return Learned(config=config, parameters=0, found=(), report=None)
    return Learned(config=config, parameters=final.parameters, found=tuple(found), report=final.report.score)


def _measure(scanner: Scanner, table: Table, progress: Progress) -> dict[int, float]:
    """Rows a second in packs of several sizes, of points drawn at random, checks on the way included."""
    configs = [each.config for each in table.learned.values()]
    rungs = table.rungs(halving=True)

    def arm(size: int) -> float:
        drawn = np.random.default_rng(size).choice(len(configs), size, replace=False)
        heads = [Start(trial=str(n), config=TrialConfig.from_json(configs[n])) for n in drawn]
        stop = min(STEPS[table.ground.one_token], *(rungs.course(head.config).end for head in heads))
        return float(max(outcome.rows for outcome in scanner.segment(heads, stop, score=())))

    sizes = [size for size in SIZES if size <= len(configs)]
    arms = {str(size): partial(arm, size) for size in sizes}
    measured = take_turns(arms, unit="rows", rounds=3, progress=progress)
    return {size: measured[str(size)].rate for size in sizes}
