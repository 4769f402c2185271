"""Opening a study: all that can be wrong with what the user asked for is found here, before any work."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import Any

from bv_search.command import AUTO
from bv_search.errors import RunError, SpaceError, StoreError, UnknownName, UserError
from bv_search.files import absolute
from bv_search.heads.config import check_fit
from bv_search.run.choosers import Choosers
from bv_search.run.folder import Run
from bv_search.run.roles import check_data, find_near, refuse_ride
from bv_search.run.study import FRONT, OBJECTIVES, SCORE, Study
from bv_search.scan.folds import Folds
from bv_search.scan.ladder import LadderRung, rungs_of
from bv_search.scan.store_view import count_rows, head_shape
from bv_search.source import SOURCES
from bv_search.source.choice import SourceChoice, choose_source
from bv_search.space.space import Space, find_space, parse_space
from bv_search.store.layout import MANIFEST
from bv_search.store.store import Store
from bv_search.tasks.row import Role
from bv_search.tune.budget import Budget
from bv_search.tune.config import (
    DEFAULT_SCHEDULER,
    DEFAULT_SEARCHER,
    DEFAULT_TRIALS,
    FEW_ROWS,
    FINALISTS,
    FOLDS,
    GENERATION,
    SCHEDULERS,
    SEEDS,
    More,
    TuneConfig,
)
from bv_search.tune.resume import Past
from bv_search.tune.searchers import SEARCHERS
from bv_search.tune.searchers.grid import Grid
from bv_search.tune.searchers.searcher import Size
from bv_search.tune.sizes import Sizes
from bv_search.tune.warm_start import gather


@dataclass(frozen=True, kw_only=True)
class OpenStudy:
    run: Run
    space: Space
    store: Store
    source_choice: SourceChoice
    changes: Mapping[str, Any] = field(default_factory=dict)  # of a resumed study, once it may be written to

    @property
    def ladder(self) -> list[LadderRung]:
        """What it begins with; nothing, where it was told to leave that out."""
        return list(rungs_of(head_shape(self.store))) if self.run.study.ladder else []

    @property
    def sizes(self) -> Sizes:
        return Sizes(self.space, head_shape(self.store))

    @property
    def size(self) -> Size | None:
        """What is to be small, where that is an objective."""
        return self.sizes.of if self.run.study.seeks_front else None

    @property
    def is_full_grid(self) -> bool:
        """Whether there is no other point to try."""
        study = self.run.study
        return study.searcher == "grid" and study.trials >= len(Grid(self.space, study.seed, self.sizes.fit))

    def budget(self, seconds: float | None, past: Sequence[Past]) -> Budget:
        """What is left of it after what earlier sessions found."""
        budget = Budget(
            seconds,
            target=self.run.study.target,
            patience=self.run.study.patience,
            ladder=[rung.trial for rung in self.ladder],
            size=self.size and (lambda config: self.sizes.of_head(config.head)),
        )
        budget.recall(past)
        return budget


def open_study(config: TuneConfig) -> OpenStudy:
    check_names(config)
    return _resume(config) if config.resume else _begin(config)


def check_names(config: TuneConfig) -> None:
    if config.searcher is not None and config.searcher not in SEARCHERS:
        raise UnknownName("searcher", config.searcher, SEARCHERS)
    if config.scheduler is not None and config.scheduler not in SCHEDULERS:
        raise UnknownName("scheduler", config.scheduler, SCHEDULERS)
    if config.objective is not None and config.objective not in OBJECTIVES:
        raise UnknownName("objective", config.objective, OBJECTIVES)
    if config.source not in SOURCES:
        raise UnknownName("source", config.source, SOURCES)
    if config.objective == FRONT:
        _check_front(config)


def _check_front(config: TuneConfig) -> None:
    """Rungs stop heads that others beat by score: the small ones, which a front is made of."""
    able = [name for name, searcher in SEARCHERS.items() if searcher.finds_fronts]
    if config.searcher is not None and config.searcher not in able:
        raise UserError(
            f"{config.searcher} takes one objective", expected=f"--searcher {', '.join(able)}", found=FRONT
        )
    if config.scheduler == "asha":
        raise UserError(
            "asha judges by the score alone, and would stop the small heads of a front",
            expected="--scheduler none",
            found=FRONT,
        )


def load_space(config: TuneConfig, *, one_token: bool = False) -> Space:
    space = find_space(config.begun_space, one_token=one_token)
    if config.data_fraction is not None:
        space = with_data_fraction(space, config.data_fraction)
    return space if config.max_parameters is None else with_max_parameters(space, config.max_parameters)


def with_data_fraction(space: Space, fraction: float) -> Space:
    """The same space on the first part of the data."""
    inside: Mapping[str, Any] = space.document["space"]
    if "data_fraction" in inside:
        raise SpaceError("has its own data_fraction", where=space.name, do="leave out --data-fraction")
    if fraction == 1:
        return space
    start = [{**point, "data_fraction": fraction} for point in space.start]
    source = {**space.document, "space": {**inside, "data_fraction": fraction}, "start": start}
    return parse_space(source, space.name)


def with_max_parameters(space: Space, limit: int) -> Space:
    """The same space without heads that have more."""
    if space.max_parameters is not None:
        raise SpaceError("has its own max_parameters", where=space.name, do="leave out --max-parameters")
    return parse_space({**space.document, "max_parameters": limit}, space.name)


def choose_searcher(config: TuneConfig, space: Space) -> str:
    learning = "optuna" if config.objective == FRONT else DEFAULT_SEARCHER
    return config.searcher or ("grid" if space.is_enumerable() else learning)


def choose_scheduler(config: TuneConfig, searcher: str) -> str:
    """A table is filled in whole, unless it is asked otherwise; heads of a front have no common measure."""
    whole = searcher == "grid" or config.objective == FRONT
    return config.scheduler or ("none" if whole else DEFAULT_SCHEDULER)


def choose_generation(config: TuneConfig, searcher: str) -> int | None:
    """A searcher that learns must hear before it asks again."""
    learns = SEARCHERS[searcher].startup_points is not None
    return config.generation or (GENERATION if learns else None)


def choose_finalists(config: TuneConfig, searcher: str, folds: int) -> int:
    """A table has no winner. Copies by folds answer by their mean already, which finalists did not better."""
    if config.finalists is not None:
        return config.finalists
    return FINALISTS if searcher != "grid" and folds == 1 else 0


def choose_seeds(config: TuneConfig, folds: int) -> int:
    """A mean of fewer copies than the search judged would be less than what it promised: .002 on STS-B."""
    return config.seeds or max(SEEDS, folds)


def count_trials(config: TuneConfig, sizes: Sizes) -> int:
    """As many as asked for; a grid has no more than its points."""
    if choose_searcher(config, sizes.space) != "grid":
        return int(config.trials or DEFAULT_TRIALS)
    points = len(Grid(sizes.space, config.seed or 0, sizes.fit))
    return min(int(config.trials or points), points)


def choose_folds(config: TuneConfig, searcher: str, store: Store) -> int:
    """A search takes the best of many heads, which among few rows is the luckiest; a table shows them all.

    Where windows are of many tokens, copies cost hours, and are made only when asked for.
    """
    if config.folds is None:
        select = sum(count_rows(split) for split in store.splits(Role.SELECT))
        wanted = FOLDS if store.manifest.one_token and searcher != "grid" and select < FEW_ROWS else 1
        return wanted if has_folds(store, wanted) else 1
    if not has_folds(store, config.folds):
        raise UserError(
            f"cannot be cut into {config.folds} folds",
            where=store.path,
            expected="rows in every fold, and those of a group in one",
            do="choose fewer --folds",
        )
    return config.folds


def has_folds(store: Store, count: int) -> bool:
    """Whether each of them has rows to judge its copy, and the others rows to teach it."""
    if count == 1:
        return True
    folds = Folds.of(store, count)
    return len(set(folds.of_N[folds.judged].tolist())) == count


def baseline_of(store: Store, folds: int) -> dict[str, Any] | None:
    """The encoder's own scores; with folds, by the rows that heads are judged by in place of select alone."""
    baseline = None if store.manifest.baseline is None else asdict(store.manifest.baseline)
    if baseline is None or folds == 1:
        return baseline
    choosers = Choosers.of_folds(store, folds)
    logits = choosers.encoder_logits()
    assert logits is not None, "an encoder with scores has predictions"
    found = store.task.evaluate(choosers.index, logits)
    return {**baseline, "select": found.metrics, "select_score": found.score}


def open_store(place: str, config: TuneConfig) -> Store:
    store = Store.open(place, memory=config.memory, cache=config.cache)
    check_data(store, config.data)
    for role in (Role.TRAIN, Role.SELECT, Role.REPORT):
        if not store.splits(role):
            found = ", ".join(store.manifest.splits)
            raise StoreError(f"has no split of role {role}", where=place, found=found)
    return store


def check_heads(space: Space, store: Store) -> None:
    """Every head that the space can draw makes sense on this store."""
    shape = head_shape(store)
    for config in space.typed_corners():
        check_fit(config.head, shape)
    Sizes(space, shape).check()


def _begin(config: TuneConfig) -> OpenStudy:
    store = open_store(config.store, config)
    space = load_space(config, one_token=store.manifest.one_token)
    searcher = choose_searcher(config, space)
    folds = choose_folds(config, searcher, store)
    check_heads(space, store)
    choice = choose_source(config.source, store)
    name = config.name or _free_name(config.runs, f"{store.task.name}-{space.name}")
    study = Study(
        name=name,
        space={"name": space.name, **space.document},
        store=absolute(config.store),
        store_digest=store.digest,
        task=store.manifest.task,
        searcher=searcher,
        scheduler=choose_scheduler(config, searcher),
        trials=count_trials(config, Sizes(space, head_shape(store))),
        seed=config.seed or 0,
        pack=config.pack or AUTO,
        generation=choose_generation(config, searcher),
        data_fraction=config.data_fraction or 1.0,
        encoder_parameters=store.encoder_parameters,
        baseline=baseline_of(store, folds),
        folds=folds,
        finalists=choose_finalists(config, searcher, folds),
        seeds=choose_seeds(config, folds),
        ladder=config.ladder is not False,
        objective=config.objective or SCORE,
        target=config.target,
        patience=config.patience,
        source=choice.source,
        precision=config.precision or AUTO,
        values=head_shape(store).values,
        workers=config.workers,
    )
    told = gather(config.warm_start, searcher, space, store)
    run = Run.create(config.runs / name, study, [each.to_event() for each in told])
    return OpenStudy(run=run, space=space, store=store, source_choice=choice)


def _resume(config: TuneConfig) -> OpenStudy:
    """Go on with a run as it was begun; only what changes no result may change, and when it ends."""
    run = Run.open(config.runs / str(config.name))
    refuse_ride(run)
    if config.warm_start:
        raise UserError(
            "a resumed run is told what it was begun with",
            where=run.path,
            found="--warm-start",
            do="leave it out, or start a new run",
        )
    study = run.study
    source = {key: value for key, value in study.space.items() if key != "name"}
    space = parse_space(source, str(study.space.get("name", study.name)))
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
    if study.values != head_shape(store).values:
        raise RunError(
            "was begun by an older version, whose heads learn values as they are",
            where=run.path,
            do="start a new run",
        )
    _check_unchanged(config, run, space, one_token=store.manifest.one_token)
    trials = _resumed_trials(config, study, Sizes(space, head_shape(store)))
    choice = choose_source(study.source if config.source == AUTO else config.source, store)
    now = {"trials": trials, "source": choice.source, "store": place, "pack": config.pack or study.pack}
    now |= {
        "workers": config.workers or study.workers,
        "target": study.target if config.target is None else config.target,
        "patience": config.patience or study.patience,
    }
    changes = {key: value for key, value in now.items() if value != getattr(study, key)}
    return OpenStudy(run=run, space=space, store=store, source_choice=choice, changes=changes)


def _check_unchanged(config: TuneConfig, run: Run, space: Space, *, one_token: bool) -> None:
    """What is said again of a run must be what it was begun with."""
    study = run.study
    pairs = {
        "--objective": (study.objective, config.objective),
        "--searcher": (study.searcher, config.searcher),
        "--scheduler": (study.scheduler, config.scheduler),
        "--seed": (study.seed, config.seed),
        "--generation": (study.generation, config.generation),
        "--data-fraction": (study.data_fraction, config.data_fraction),
        "--folds": (study.folds, config.folds),
        "--no-ladder": (study.ladder, config.ladder),
        "--precision": (study.precision, None if config.precision == AUTO else config.precision),
        "--finalists": (study.finalists, config.finalists),
        "--seeds": (study.seeds, config.seeds),
        "--max-parameters": (space.max_parameters, config.max_parameters),
    }
    if config.space:
        part = study.data_fraction if study.data_fraction < 1 else None
        asked = replace(config, data_fraction=part, max_parameters=None)
        again = load_space(asked, one_token=one_token).document
        limit = {"max_parameters": space.max_parameters}  # of the run, if the file has none
        same = {**limit, **again} == {**limit, **space.document}
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


def _resumed_trials(config: TuneConfig, study: Study, sizes: Sizes) -> int:
    if config.trials is None:
        return study.trials
    trials = study.trials + config.trials if isinstance(config.trials, More) else config.trials
    if trials < study.trials:
        raise UserError(
            "a run cannot lose trials",
            where=study.name,
            expected=f"--trials {study.trials} or more, or +N",
            found=trials,
        )
    whole = replace(config, searcher=study.searcher, trials=trials)
    return count_trials(whole, sizes)


def _free_name(runs: Path, stem: str) -> str:
    return next(name for n in count(1) if not (runs / (name := f"{stem}-{n}")).exists())
