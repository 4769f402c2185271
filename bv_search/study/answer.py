"""Study 8: the front of score against fine-tuning, data and parameters, and how little is enough."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from bv_search.encoder.stage import epochs, stage_name
from bv_search.run.choosers import Choosers
from bv_search.scan.store_view import train_split
from bv_search.study.data import rows_of
from bv_search.study.entry import Entry
from bv_search.study.figures import answer_figure
from bv_search.study.folder import StudyFolder
from bv_search.study.section import Section
from bv_search.study.table import Cell, Form, StudyTable, TableColumn, interval

OWN = "the encoder's own answers"


@dataclass(frozen=True, kw_only=True)
class Offer:
    """What one can settle for: so much fine-tuning, so many rows, such a head."""

    stage: float  # epochs
    seconds: float  # of fine-tuning
    share: float  # of the training rows, that the head or, without one, the encoder learned from
    rows: int
    title: str
    parameters: int  # beside the encoder
    select: float
    error: float  # standard error of it
    report: float
    interval: tuple[float, float] | None

    @property
    def costs(self) -> tuple[float, int, int]:
        """In the order of the question: fine-tuning, data, head."""
        return self.seconds, self.rows, self.parameters


@dataclass(frozen=True, kw_only=True)
class HowLittle:
    """The best of all offers on select, and the least that is as good."""

    best: Offer
    least: Offer
    front: tuple[Offer, ...]

    @property
    def sentence(self) -> str:
        """How little, how good that is, and how good more would be."""
        least, best = self.least, self.best
        on_report = f"on report {least.report:.4f} ({interval(least.interval)})"
        if least is best:
            beside = f"{least.select:.4f} on select, the best of all; nothing that costs less is within one"
            return f"{_words(least)}: {beside} standard error ({best.error:.4f}) of it; {on_report}."
        beside = f"{least.select:.4f} on select, within one standard error ({best.error:.4f}) of the best"
        more = _words(best, begins=False)
        return (
            f"{_words(least)}, are enough: {beside}, {best.select:.4f}, which takes {more}; "
            f"{on_report}, where the best has {best.report:.4f}."
        )


def _words(offer: Offer, *, begins: bool = True) -> str:
    """What it takes."""
    tuned = f"{epochs(offer.stage)} of fine-tuning ({offer.seconds:.0f} s)"
    if not offer.seconds:
        tuned = f"{'No' if begins else 'no'} fine-tuning"
    if offer.title == OWN:
        return f"{tuned}, {OWN}"
    data = f"{100 * offer.share:.0f} % of the data ({offer.rows:,} windows)"
    return f"{tuned}, {data} and {offer.title}, {offer.parameters:,} parameters"


def study_answer(made: StudyFolder) -> Section:
    verdict = decide(offers_of(made))
    return Section(
        study="answer",
        title="How little is enough",
        sentences=(verdict.sentence,),
        tables=(_table(made, verdict),),
        figures=(answer_figure(made, offers_of(made), verdict),),
    )


def decide(offers: Sequence[Offer]) -> HowLittle:
    """All by select; what report says is only told."""
    best = max(offers, key=lambda offer: (offer.select, tuple(-cost for cost in offer.costs)))
    enough = [offer for offer in offers if offer.select >= best.select - best.error]
    least = min(enough, key=lambda offer: (*offer.costs, -offer.select))
    return HowLittle(best=best, least=least, front=tuple(find_front(offers)))


def find_front(offers: Sequence[Offer]) -> Iterator[Offer]:
    """Those that no other beats: as good, as cheap in all three, and better or cheaper in one."""
    for offer in sorted(offers, key=lambda each: (*each.costs, -each.select)):
        if not any(_beats(other, offer) for other in offers):
            yield offer


def _beats(one: Offer, other: Offer) -> bool:
    ours, theirs = (-one.select, *one.costs), (-other.select, *other.costs)
    return ours != theirs and all(our <= their for our, their in zip(ours, theirs, strict=True))


def offers_of(made: StudyFolder) -> list[Offer]:
    """Every head at every stage, on every share of the data that was tried; probes; the encoder itself."""
    found = []
    for stage, heads in made.heads.items():
        amounts = [entry for entry in made.amounts.get(stage, []) if entry.share < 1]
        found += [_of_entry(made, entry) for entry in (*heads, *made.probes[stage], *amounts)]
        found += _of_encoder(made, stage)
    return found


def _of_entry(made: StudyFolder, entry: Entry) -> Offer:
    return Offer(
        stage=entry.stage,
        seconds=made.stages[entry.stage].seconds,
        share=entry.share,
        rows=rows_of(made, entry),
        title=_title(entry),
        parameters=entry.parameters,
        select=entry.select,
        error=entry.error,
        report=entry.report,
        interval=entry.interval,
    )


def _title(entry: Entry) -> str:
    if entry.first.rung is not None:
        return f"a {entry.title}"
    return f"{entry.head.name} (winner of the search)" if entry.is_winner else entry.title


def _of_encoder(made: StudyFolder, stage: float) -> Iterator[Offer]:
    """Its own answers, by the layer that was fine-tuned with it: no parameters beside it."""
    choosers, saved = Choosers.of_folds(made.stores[stage], 1), made.stages[stage]
    logits = choosers.encoder_logits()
    if logits is None or saved.interval is None:
        return
    evaluation = made.task.evaluate(choosers.index, logits)
    yield Offer(
        stage=stage,
        seconds=saved.seconds,
        share=min(stage, 1.0),
        rows=round(min(stage, 1.0) * train_split(made.stores[stage]).windows),
        title=OWN,
        parameters=0,
        select=evaluation.score,
        error=float(np.std(evaluation.draws(), ddof=1)),
        report=saved.metrics["report"]["score"],
        interval=saved.interval,
    )


def _table(made: StudyFolder, verdict: HowLittle) -> StudyTable:
    rows: list[tuple[Cell, ...]] = [
        (
            stage_name(offer.stage),
            round(offer.seconds, 1),
            offer.share,
            offer.rows,
            offer.title,
            offer.parameters,
            offer.select,
            offer.report,
            interval(offer.interval),
            " and ".join(
                word for word, one in (("best", verdict.best), ("least", verdict.least)) if one is offer
            ),
        )
        for offer in verdict.front
    ]
    return StudyTable(
        name="answer",
        title=f"{made.task.name}: the front of score against fine-tuning, data and parameters",
        columns=(
            TableColumn(name="epochs", form=Form.TEXT),
            TableColumn(name="seconds of fine-tuning", form=Form.COUNT),
            TableColumn(name="share of the data", form=Form.SHARE),
            TableColumn(name="windows", form=Form.COUNT),
            TableColumn(name="head", form=Form.TEXT),
            TableColumn(name="parameters", form=Form.COUNT),
            TableColumn(name="select"),
            TableColumn(name="report"),
            TableColumn(name="95 % interval", form=Form.TEXT),
            TableColumn(name="", form=Form.TEXT),
        ),
        rows=tuple(rows),
        note="Nothing tried is as good on select and cheaper in one of the three without being dearer in "
        "another. The best is that of select; the least is the one within one standard error of it with the "
        "least fine-tuning, of these with the fewest rows, of these with the fewest parameters. Windows are "
        "those that the head learned from; the encoder's own are those of its fine-tuning.",
    )
