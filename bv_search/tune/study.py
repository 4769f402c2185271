"""Opening a study: all that can be wrong with what the user asked for is found here, before any work."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any

from bv_search.errors import RunError, SpaceError, StoreError, UnknownName, UserError
from bv_search.files import absolute
from bv_search.heads.config import check_fit
from bv_search.run.folder import Run
from bv_search.run.roles import check_data, find_near
from bv_search.run.study import Study
from bv_search.scan.ground import head_shape
from bv_search.scan.trial import TrialConfig
from bv_search.source import AUTO, SOURCES
from bv_search.source.choice import Choice, choose_source
from bv_search.store.layout import MANIFEST
from bv_search.store.store import Store
from bv_search.tasks.row import Role
from bv_search.tune.config import (
    DEFAULT_SCHEDULER,
    DEFAULT_SEARCHER,
    DEFAULT_TRIALS,
    GENERATION,
    SCHEDULERS,
    TuneConfig,
)
from bv_search.tune.searchers import SEARCHERS
from bv_search.tune.searchers.grid import Grid
from bv_search.tune.space import Space, parse_space
from bv_search.tune.space_file import find_space


@dataclass(frozen=True, kw_only=True)
class OpenStudy:
    run: Run
    space: Space
    store: Store
    choice: Choice  # of the source
    changes: Mapping[str, Any] = field(default_factory=dict)  # of a resumed study, once it may be written to


def open_study(config: TuneConfig) -> OpenStudy:
    check_names(config)
    return _resume(config) if config.resume else _begin(config)


def check_names(config: TuneConfig) -> None:
    if config.searcher is not None and config.searcher not in SEARCHERS:
        raise UnknownName("searcher", config.searcher, SEARCHERS)
    if config.scheduler is not None and config.scheduler not in SCHEDULERS:
        raise UnknownName("scheduler", config.scheduler, SCHEDULERS)
    if config.source not in SOURCES:
        raise UnknownName("source", config.source, SOURCES)


def load_space(config: TuneConfig) -> Space:
    space = find_space(config.begun_space)
    return space if config.data_fraction is None else with_data_fraction(space, config.data_fraction)


def with_data_fraction(space: Space, fraction: float) -> Space:
    """The same space on the first part of the data."""
    inside: Mapping[str, Any] = space.source["space"]
    if "data_fraction" in inside:
        raise SpaceError("has its own data_fraction", where=space.name, do="leave out --data-fraction")
    if fraction == 1:
        return space
    start = [{**point, "data_fraction": fraction} for point in space.start]
    source = {**space.source, "space": {**inside, "data_fraction": fraction}, "start": start}
    return parse_space(source, space.name)


def choose_searcher(config: TuneConfig, space: Space) -> str:
    return config.searcher or ("grid" if space.is_finite() else DEFAULT_SEARCHER)


def choose_scheduler(config: TuneConfig, searcher: str) -> str:
    """A table is filled in whole, unless it is asked otherwise."""
    return config.scheduler or ("none" if searcher == "grid" else DEFAULT_SCHEDULER)


def choose_generation(config: TuneConfig, searcher: str) -> int | None:
    """A searcher that learns must hear before it asks again."""
    learns = SEARCHERS[searcher].startup_points is not None
    return config.generation or (GENERATION if learns else None)


def count_trials(config: TuneConfig, space: Space) -> int:
    """As many as asked for; a grid has no more than its points."""
    if choose_searcher(config, space) != "grid":
        return config.trials or DEFAULT_TRIALS
    points = len(Grid(space, config.seed or 0))
    return min(config.trials or points, points)


def open_store(place: str, config: TuneConfig) -> Store:
    store = Store.open(place, window=config.memory)
    check_data(store, config.data)
    for role in (Role.TRAIN, Role.SELECT, Role.REPORT):
        if not store.splits(role):
            found = ", ".join(store.manifest.splits)
            raise StoreError(f"has no split of role {role}", where=place, found=found)
    return store


def check_heads(space: Space, store: Store) -> None:
    """Every head that the space can draw makes sense on this store."""
    shape = head_shape(store)
    for corner in space.corners():
        check_fit(TrialConfig.from_json(corner).head, shape)


def _begin(config: TuneConfig) -> OpenStudy:
    space = load_space(config)
    searcher, trials = choose_searcher(config, space), count_trials(config, space)
    store = open_store(config.store, config)
    check_heads(space, store)
    choice = choose_source(config.source, store)
    name = config.name or _free_name(config.runs, f"{store.task.name}-{space.name}")
    baseline = store.manifest.baseline
    study = Study(
        name=name,
        space={"name": space.name, **space.source},
        store=absolute(config.store),
        store_digest=store.digest,
        task=store.manifest.task,
        searcher=searcher,
        scheduler=choose_scheduler(config, searcher),
        trials=trials,
        seed=config.seed or 0,
        pack=config.pack or AUTO,
        generation=choose_generation(config, searcher),
        data_fraction=config.data_fraction or 1.0,
        encoder_parameters=store.encoder_parameters,
        baseline=asdict(baseline) if baseline else None,
        source=choice.source,
    )
    run = Run.create(config.runs / name, study)
    return OpenStudy(run=run, space=space, store=store, choice=choice)


def _resume(config: TuneConfig) -> OpenStudy:
    """Go on with a run as it was begun; only what changes no result may change, and the number of trials."""
    run = Run.open(config.runs / str(config.name))
    study = run.study
    source = {key: value for key, value in study.space.items() if key != "name"}
    space = parse_space(source, str(study.space["name"]))
    _check_unchanged(config, run, space)
    place = absolute(config.store or find_near(study.store, run.path, sign=MANIFEST) or study.store)
    store = open_store(place, config)
    if store.digest != study.store_digest:
        raise RunError(
            "was made on another store",
            where=run.path,
            expected=study.store_digest,
            found=f"{store.digest} in {place}",
            do="put that store back, say with --store where it is now, or start a new run",
        )
    trials = _resumed_trials(config, study, space)
    choice = choose_source(study.source if config.source == AUTO else config.source, store)
    now = {"trials": trials, "source": choice.source, "store": place, "pack": config.pack or study.pack}
    changes = {key: value for key, value in now.items() if value != getattr(study, key)}
    return OpenStudy(run=run, space=space, store=store, choice=choice, changes=changes)


def _check_unchanged(config: TuneConfig, run: Run, space: Space) -> None:
    """What is said again of a run must be what it was begun with."""
    study = run.study
    pairs = {
        "--searcher": (study.searcher, config.searcher),
        "--scheduler": (study.scheduler, config.scheduler),
        "--seed": (study.seed, config.seed),
        "--generation": (study.generation, config.generation),
        "--data-fraction": (study.data_fraction, config.data_fraction),
    }
    if config.space:
        part = study.data_fraction if study.data_fraction < 1 else None
        same = load_space(replace(config, data_fraction=part)).source == space.source
        pairs["--space"] = (space.name, space.name if same else f"{config.space}, which differs")
    for option, (begun, found) in pairs.items():
        if found not in (None, begun):
            raise UserError(
                f"{option} of a run cannot change",
                where=run.path,
                expected=begun,
                found=found,
                do="leave it out, or start a new run",
            )


def _resumed_trials(config: TuneConfig, study: Study, space: Space) -> int:
    if config.trials is None:
        return study.trials
    trials = study.trials + config.trials if config.more else config.trials
    if trials < study.trials:
        raise UserError(
            "a run cannot lose trials",
            where=study.name,
            expected=f"--trials {study.trials} or more, or +N",
            found=trials,
        )
    whole = replace(config, searcher=study.searcher, trials=trials)
    return count_trials(whole, space)


def _free_name(runs: Path, stem: str) -> str:
    return next(name for n in count(1) if not (runs / (name := f"{stem}-{n}")).exists())
