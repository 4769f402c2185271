"""Does a search find more than chance does, and for how much less?

With --store, a table is trained: every point of a finite space, once. Without, searches are replayed on
tables by every searcher, scheduler and generation, many seeds each; regret.py says what is measured. They are
compared with random search at full length, seed by seed. The control is the same on tables whose heads have
changed places: nothing is left there to learn, and no searcher may seem to.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from bv_search.bench.config import BenchConfig
from bv_search.bench.contest import DEFAULT, RANDOM, Contest, controls_of, hold, ways_of
from bv_search.bench.filling import fill
from bv_search.bench.regret import (
    REACHED,
    ROLES,
    Mean,
    Way,
    best_on_select,
    full_head,
    scale_of,
    units,
    value_of,
)
from bv_search.bench.table import Table, read_table
from bv_search.command import Progress, Result
from bv_search.errors import UserError
from bv_search.files import write_text
from bv_search.space.space import find_space
from bv_search.store.store import Store

BEST = 5  # ways that are named


def run(asked: BenchConfig, progress: Progress) -> Result:
    if not asked.table:
        raise UserError("no table", expected="--table FILE", do="train one with --store STORE --space FILE")
    paths = [Path(each) for each in asked.table]
    return _train(asked, paths, progress) if asked.store else _replay(asked, paths, progress)


def _train(asked: BenchConfig, paths: Sequence[Path], progress: Progress) -> Result:
    if len(paths) > 1 or not asked.space:
        raise UserError("which table?", expected="--table FILE --space FILE", do="name one of each")
    store, space = Store.open(asked.required_store), find_space(asked.space)
    table = fill(paths[0], store, space, pack=asked.heads, threads=asked.threads, progress=progress)
    said = {"table": str(paths[0]), "points": len(table.learned), "rates": table.rates}
    return Result(text=f"{paths[0]}: {len(table.learned)} points", json=said)


def _replay(asked: BenchConfig, paths: Sequence[Path], progress: Progress) -> Result:
    tables = {path.stem: read_table(path) for path in paths}
    replay = partial(hold, seeds=asked.seeds, heads=asked.budget, processes=asked.threads, progress=progress)
    ways, controls = ways_of(asked.searchers, asked.generations), controls_of(asked.searchers)
    contests = {path.stem: replay(path, ways) for path in paths}
    shuffled = {path.stem: replay(path, controls, shuffled=True) for path in paths}
    if asked.plot:
        from bv_search.bench.regret_chart import regret_chart  # with matplotlib

        write_text(Path(asked.plot), regret_chart(contests))
    verdict = judge(contests)
    lines = [
        line for name, table in tables.items() for line in _lines(name, table, contests[name], shuffled[name])
    ]
    said = {
        name: {**_describe(table), "ways": contests[name].to_json(), "control": shuffled[name].to_json()}
        for name, table in tables.items()
    }
    return Result(text="\n".join([*lines, *_verdict_lines(verdict)]), json={"tables": said, **verdict})


def judge(contests: Mapping[str, Contest]) -> dict[str, Any]:
    """What the defaults are worth, and the ways with the least regret of those never worse than chance."""
    each = list(contests.values())
    sound = [way for way in each[0].ways if not any(contest.worse(way, RANDOM) for contest in each)]
    ranked = sorted(sound, key=lambda way: sum(contest.overall(way) for contest in each))
    return {
        "default": str(DEFAULT),
        "needed": {
            name: {"default": contest.needed(DEFAULT), "random": contest.needed(RANDOM)}
            for name, contest in contests.items()
        },
        "worse": {name: contest.worse(DEFAULT, RANDOM) for name, contest in contests.items()},
        "best": [str(way) for way in ranked[:BEST]],
    }


def _verdict_lines(verdict: Mapping[str, Any]) -> Iterator[str]:
    yield f"the defaults are {verdict['default']}"
    for name, needed in verdict["needed"].items():
        pair = f"{_count(needed['default'])} full heads, random {_count(needed['random'])}"
        worse = verdict["worse"][name]
        beside = (
            f"worse than random after {', '.join(map(str, worse))}" if worse else "never worse than random"
        )
        yield f"  {name}: a regret of {REACHED} after {pair}; {beside}"
    yield "least regret over all tables, of those never worse than random: " + "; ".join(verdict["best"])


def _lines(name: str, table: Table, contest: Contest, control: Contest) -> Iterator[str]:
    shown = contest.shown
    yield _headline(name, table)
    after = "".join(f"{f'after {budget}':>16}" for budget in shown)
    yield f"  {'regret on select':26}{after}{'on report':>16}{'needed':>8}{'seconds':>9}"
    second = units(table)["seconds"]
    for way in contest.ways:
        needed, spent = contest.needed(way), contest.needed(way, axis="seconds")
        seconds = "–" if spent is None else f"{spent * second:,.0f}"
        report = _mean(contest.means(way, "report")[shown[-1] - 1])
        yield f"  {way!s:26}{_means(contest, way)}{report:>16}{_count(needed):>8}{seconds:>9}"
    yield "  heads in each other's places:"
    for way in control.ways:
        yield f"  {way!s:26}{_means(control, way)}"


def _means(contest: Contest, way: Way) -> str:
    means = contest.means(way)
    return "".join(f"{_mean(means[budget - 1]):>16}" for budget in contest.shown)


def _mean(mean: Mean) -> str:
    return f"{mean.value:.3f} ± {mean.half:.3f}"


def _count(needed: int | None) -> str:
    return "–" if needed is None else str(needed)


def _headline(name: object, table: Table) -> str:
    said = _describe(table)
    scales = "; ".join(
        f"{role}: best {said[role]['best']:.4f}, median {said[role]['median']:.4f}" for role in ROLES
    )
    return (
        f"{name}: {said['points']} points, {said['rows']:,.0f} rows to the end of a head; {scales}; "
        f"who trains them all regrets {said['report']['of_all']:.2f} on report"
    )


def _describe(table: Table) -> dict[str, Any]:
    chosen = best_on_select(table)
    scales = {role: scale_of(table, role) for role in ROLES}
    return {
        "points": len(table.learned),
        "rows": full_head(table),
        "rates": table.rates,
        **{
            role: {
                "best": scale.best,
                "median": scale.median,
                "of_all": scale.regret(value_of(chosen, role)),
            }
            for role, scale in scales.items()
        },
    }
