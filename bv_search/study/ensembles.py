"""Study 5: each head with its encoder, at its own stage and at later ones; the best ensemble under a cap."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bv_search.encoder.stage import stage_name
from bv_search.ensemble.selection import ROUNDS, Panel, Selection
from bv_search.model.combine import Method, combine, methods_of
from bv_search.model.model import ENCODER_NAME
from bv_search.run.choosers import Choosers
from bv_search.run.folder import Run
from bv_search.run.trial import TrialRecord
from bv_search.study import published
from bv_search.study.entry import Entry
from bv_search.study.figures import ensembles_figure
from bv_search.study.folder import StudyFolder
from bv_search.study.judged import Judged
from bv_search.study.section import Section
from bv_search.study.steps import GRID, SEARCH
from bv_search.study.table import Cell, Form, StudyTable, TableColumn, after, interval
from bv_search.tasks.evaluation import Delta, Evaluation, difference
from bv_search.tasks.votes import Votes, loss_of

WEIGHTS = tuple(number / 10 for number in range(1, 10))
CONSIDERED = 16  # heads of each run, the best that fit under the cap


@dataclass(frozen=True, kw_only=True)
class Pair:
    """A head of a stage with the encoder of that stage, or of a later one."""

    entry: Entry
    stage: float  # the encoder's
    head: float | None  # its own score; None at another stage than its own
    encoder: float
    maximum: float | None  # None of values, which have none
    mean: float
    weighted: float
    weight: float  # of the head, by the loss on select


@dataclass(frozen=True, kw_only=True)
class Capped:
    """The best ensemble under a cap, beside its encoder and the best head alone."""

    stage: float
    limit: int  # parameters
    members: tuple[str, ...]
    parameters: int
    evaluation: Evaluation
    over_encoder: Delta
    over_head: Delta


@dataclass(frozen=True, kw_only=True, eq=False)
class _Stage:
    """What a stage's store says of rows, and its encoder."""

    made: StudyFolder
    stage: float

    @cached_property
    def judged(self) -> Judged:
        return Judged(store=self.made.stores[self.stage])

    @cached_property
    def choosers(self) -> Choosers:
        return Choosers.of_folds(self.judged.store, 1)

    @cached_property
    def encoder_select(self) -> list[np.ndarray] | None:
        return self.choosers.encoder_logits()


def study_ensembles(made: StudyFolder) -> Section:
    stages = {stage: _Stage(made=made, stage=stage) for stage in made.heads}
    able = {stage: each for stage, each in stages.items() if each.encoder_select is not None}
    pairs = [pair for each in able.values() for pair in _pairs(made, each)]
    capped = [_capped(made, each) for each in able.values()]
    return Section(
        study="ensembles",
        title="Heads together with the encoder",
        sentences=tuple(_sentences(made, capped)),
        tables=(_pair_table(made, pairs), _capped_table(made, capped)),
        figures=(ensembles_figure(made, pairs),) if pairs else (),
    )


def _pairs(made: StudyFolder, of: _Stage) -> Iterator[Pair]:
    """All heads of the stage, and the best one of each stage before it; with their first seeds."""
    for entry in made.heads[of.stage]:
        yield _pair(made, entry, of)
    for earlier, best in made.best.items():
        if earlier < of.stage:
            yield _pair(made, best, of)


def _pair(made: StudyFolder, entry: Entry, of: _Stage) -> Pair:
    kind, home = made.task.kind, _Stage(made=made, stage=entry.stage)
    own = home.judged.logits(entry.run, entry.first.id)
    theirs = of.judged.encoder_logits
    assert theirs is not None, "only encoders with answers are asked"
    assert of.judged.encoder is not None, "only encoders with answers are asked"
    select = home.choosers.trial_logits(entry.run.answers_folder(entry.first.id))
    weight = _best_weight(of, select)

    def score(method: Method, weights: Sequence[float] = (1.0, 1.0)) -> float:
        return of.judged.evaluate(combine(method, [own, theirs], kind, list(weights))).score

    return Pair(
        entry=entry,
        stage=of.stage,
        head=entry.first.report_score if entry.stage == of.stage else None,
        encoder=of.judged.encoder.score,
        maximum=score(Method.MAX) if Method.MAX in methods_of(kind) else None,
        mean=score(Method.MEAN),
        weighted=score(Method.GREEDY, (weight, 1 - weight)),
        weight=weight,
    )


def _best_weight(of: _Stage, head: Sequence[np.ndarray]) -> float:
    """Of the head beside the encoder, by the loss on select."""
    kind, encoder = of.made.task.kind, of.encoder_select
    assert encoder is not None, "only encoders with answers are asked"
    labels_ND = np.stack(of.choosers.index["label"].to_numpy())
    ours_ND, theirs_ND = (Votes.of(each, kind).truth(labels_ND, kind) for each in (head, encoder))
    return min(WEIGHTS, key=lambda weight: loss_of(weight * ours_ND + (1 - weight) * theirs_ND, kind))


def _capped(made: StudyFolder, of: _Stage) -> Capped:
    limit = int(made.encoder_parameters * made.config.cap / 100)
    candidates = [
        (run, record)
        for kind in (GRID, SEARCH)
        if (run := made.run(kind, of.stage)) is not None
        for record in [each for each in run.finished_trials() if (each.parameters or 0) <= limit][:CONSIDERED]
    ]
    assert of.encoder_select is not None, "only encoders with answers are asked"
    said = [of.choosers.trial_logits(run.answers_folder(record.id)) for run, record in candidates]
    panel = Panel.of(made.task, of.choosers.index, [*said, of.encoder_select], encoder=True)
    sizes = [*((record.parameters or 0) for _, record in candidates), 0]
    return _as_capped(of, candidates, choose_capped(panel, sizes, limit), limit)


def choose_capped(panel: Panel, sizes: Sequence[int], limit: int) -> Selection:
    """Forward selection by the loss, from the best alone on, of members that fit together under a limit."""
    chosen = [panel.best_alone]
    while len(chosen) < ROUNDS:
        longer = [[*chosen, member] for member in range(len(sizes))]
        fitting = [each for each in longer if sum(sizes[member] for member in set(each)) <= limit]
        best = min(fitting, key=panel.loss)
        if panel.loss(best) >= panel.loss(chosen):
            break
        chosen = best
    return panel.combine(Method.GREEDY, chosen)


def _as_capped(
    of: _Stage, candidates: Sequence[tuple[Run, TrialRecord]], selection: Selection, limit: int
) -> Capped:
    judged, best = of.judged, of.made.best[of.stage]
    assert judged.encoder is not None, "only encoders with answers are asked"
    heads = [candidates[number] for number, _ in selection.members if number < len(candidates)]
    said = {number: judged.logits(run, record.id) for number, (run, record) in enumerate(candidates)}
    said[len(candidates)] = judged.encoder_logits or []
    together = combine(
        selection.method,
        [said[number] for number, _ in selection.members],
        judged.store.task.kind,
        [weight for _, weight in selection.members],
    )
    ours = judged.evaluate(together)
    with_encoder = len(heads) < len(selection.members)
    return Capped(
        stage=of.stage,
        limit=limit,
        members=(
            *(f"{run.name}/{record.id}" for run, record in heads),
            *([ENCODER_NAME] if with_encoder else []),
        ),
        parameters=sum(record.parameters or 0 for _, record in heads),
        evaluation=ours,
        over_encoder=difference(ours, judged.encoder),
        over_head=difference(ours, judged.evaluate(judged.logits(best.run, best.first.id))),
    )


def _sentences(made: StudyFolder, capped: Sequence[Capped]) -> Iterator[str]:
    if not capped:
        yield "No stage was fine-tuned, so there is no encoder to combine heads with."
    for each in capped:
        yield (
            f"{after(each.stage)} the best ensemble with heads of at most {made.config.cap:g} % of "
            f"the encoder's parameters scores {each.evaluation.score:.4f}: "
            f"{each.over_encoder.beside('the encoder')}, {each.over_encoder}, and "
            f"{each.over_head.beside('the best head')}, {each.over_head}."
        )


def _pair_table(made: StudyFolder, pairs: Sequence[Pair]) -> StudyTable:
    beside = any(_published(made, pair) != published.NONE for pair in pairs)
    return StudyTable(
        name="ensembles",
        title=f"{made.task.name}: each head with its encoder, at its own stage and at later ones",
        columns=(
            TableColumn(name="head of", form=Form.TEXT),
            TableColumn(name="encoder of", form=Form.TEXT),
            TableColumn(name="head", form=Form.TEXT),
            TableColumn(name="head alone"),
            TableColumn(name="encoder alone"),
            TableColumn(name="maximum"),
            TableColumn(name="mean"),
            TableColumn(name="weighted"),
            TableColumn(name="weight of the head", form=Form.NUMBER),
            *([TableColumn(name="published maximum, F1")] if beside else []),
        ),
        rows=tuple(
            (
                stage_name(pair.entry.stage),
                stage_name(pair.stage),
                pair.entry.title,
                pair.head,
                pair.encoder,
                pair.maximum,
                pair.mean,
                pair.weighted,
                pair.weight,
                *([_published(made, pair)[1]] if beside else []),
            )
            for pair in pairs
        ),
        note="Of probabilities; of spans, of start and end separately. Heads have their first seed. The "
        "weight is that of the least loss on select; scores are of report.",
    )


def _published(made: StudyFolder, pair: Pair) -> published.Figures:
    """Of the best head at its own stage."""
    if pair.entry is not made.best.get(pair.stage) or not published.is_published(made.stores[pair.stage]):
        return published.NONE
    return published.MAXIMUM.get(made.task.name, {}).get(pair.stage, published.NONE)


def _capped_table(made: StudyFolder, capped: Sequence[Capped]) -> StudyTable:
    rows: list[tuple[Cell, ...]] = [
        (
            stage_name(each.stage),
            each.limit,
            each.parameters,
            each.evaluation.score,
            interval(each.evaluation.interval()),
            str(each.over_encoder),
            str(each.over_head),
            ", ".join(each.members),
        )
        for each in capped
    ]
    return StudyTable(
        name="ensembles-capped",
        title=f"{made.task.name}: the best ensemble whose heads have at most {made.config.cap:g} % of the "
        "encoder's parameters",
        columns=(
            TableColumn(name="epochs", form=Form.TEXT),
            TableColumn(name="cap", form=Form.COUNT),
            TableColumn(name="parameters", form=Form.COUNT),
            TableColumn(name="score"),
            TableColumn(name="95 % interval", form=Form.TEXT),
            TableColumn(name="over the encoder", form=Form.TEXT),
            TableColumn(name="over the best head", form=Form.TEXT),
            TableColumn(name="members", form=Form.TEXT),
        ),
        rows=tuple(rows),
        note="Chosen by the loss on select, from the best heads that fit under the cap.",
    )
