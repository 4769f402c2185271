"""Study 7: which rows models get wrong, and to read, those that only head or encoder gets right."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bv_search.encoder.stage import stage_name
from bv_search.model.combine import Method, combine
from bv_search.model.standings import Standing
from bv_search.report.spans import SpanFacts, facts_of
from bv_search.run.roles import dataset_of
from bv_search.study.entry import best_entry
from bv_search.study.figures import errors_figure
from bv_search.study.folder import StudyFolder
from bv_search.study.judged import Judged
from bv_search.study.section import DisputedRow, Section
from bv_search.study.table import Cell, Form, StudyTable, TableColumn, after
from bv_search.tasks.classification import ClassificationTask
from bv_search.tasks.evaluation import Evaluation
from bv_search.tasks.row import Role, Row
from bv_search.tasks.squad_score import EXACT, HAS_ANSWER
from bv_search.tasks.task import Kind

HEAD, ENCODER, TOGETHER = "head", "encoder", "both, mean"
QUESTIONS = ("what", "who", "when", "where", "which", "why", "how")
NEAR = 0.1  # of the range of values: so near an answer is called right
READ = 8  # rows of each group
LONGEST = 1200  # characters of a text that is shown


@dataclass(frozen=True, kw_only=True, eq=False)
class StageErrors:
    """Three models on the rows of report: the encoder, the best head of its stage, and both together."""

    made: StudyFolder
    stage: float
    judged: Judged
    logits: Mapping[str, Sequence[np.ndarray]]
    rows: Sequence[Row]  # in the order of outcomes

    @cached_property
    def evaluations(self) -> dict[str, Evaluation]:
        return {name: self.judged.evaluate(logits) for name, logits in self.logits.items()}

    @cached_property
    def right(self) -> dict[str, np.ndarray]:
        return {name: right_of(self.made.task.kind, each.outcome) for name, each in self.evaluations.items()}

    @cached_property
    def spans(self) -> list[SpanFacts]:
        if self.made.task.kind is not Kind.SPAN:
            return []
        theirs = self.right[ENCODER]
        return [facts_of(self._standing(name), self.judged.index, theirs) for name in self.logits]

    def _standing(self, name: str) -> Standing:
        evaluation = self.evaluations[name]
        return Standing(
            role=name,
            title=name,
            name=name,
            logits=self.logits[name],
            evaluation=evaluation,
            interval=evaluation.interval(),
            parameters=None,
            percent=None,
            select_score=None,
            below=None,
            delta=None,
            is_found=name == HEAD,
        )


def right_of(kind: Kind, outcome: np.ndarray) -> np.ndarray:
    """Whether each row is right; a value is, where it is near."""
    if kind is Kind.SPAN:
        found = outcome[:, EXACT] == 1.0
    elif kind is Kind.CLASSIFICATION:
        found = outcome[:, 0] == outcome[:, 1]
    else:
        found = np.abs(outcome[:, 0] - outcome[:, 1]) <= NEAR * np.ptp(outcome[:, 1])
    return np.asarray(found)


def study_errors(made: StudyFolder) -> Section:
    rows = {row.id: row for row in _report_rows(made)}
    found = [each for stage in made.heads if (each := _of_stage(made, stage, rows)) is not None]
    if not found:
        text = "No stage was fine-tuned, so there is no encoder to compare heads with."
        return Section(study="errors", title="Where they part ways", sentences=(text,))
    read = _to_read(made, found)
    tables = [_agreement_table(found), _group_table(found)]
    return Section(
        study="errors",
        title="Where they part ways",
        sentences=tuple(_sentences(found)),
        tables=(*tables, *([_span_table(found)] if made.task.kind is Kind.SPAN else [])),
        figures=(errors_figure(made, found),),
        readings=tuple(_readings(read)),
    )


def _report_rows(made: StudyFolder) -> Iterator[Row]:
    store = next(iter(made.stores.values()))
    for split in dataset_of(store, made.config.data).splits:
        if split.role == Role.REPORT:
            yield from split.rows


def _of_stage(made: StudyFolder, stage: float, rows: Mapping[str, Row]) -> StageErrors | None:
    judged, best = Judged(store=made.stores[stage]), made.best[stage]
    if judged.encoder_logits is None or judged.encoder is None:
        return None
    ours = judged.logits(best.run, best.first.id)
    together = combine(Method.MEAN, [ours, judged.encoder_logits], made.task.kind)
    return StageErrors(
        made=made,
        stage=stage,
        judged=judged,
        logits={ENCODER: judged.encoder_logits, HEAD: ours, TOGETHER: together},
        rows=[rows[name] for name in judged.encoder.rows],
    )


def _to_read(made: StudyFolder, found: Sequence[StageErrors]) -> StageErrors:
    """The stage whose best head is the best of all on select."""
    best = best_entry(made.best[each.stage] for each in found)
    return next(each for each in found if each.stage == best.stage)


def _sentences(found: Sequence[StageErrors]) -> Iterator[str]:
    for each in found:
        alone, lost = _only(each, HEAD, ENCODER), _only(each, ENCODER, HEAD)
        yield (
            f"{after(each.stage)} the head alone is right on {alone.sum():,} rows, the encoder alone "
            f"on {lost.sum():,}, of {len(alone):,}."
        )


def _only(of: StageErrors, one: str, other: str) -> np.ndarray:
    return np.asarray(of.right[one] & ~of.right[other])


def _agreement_table(found: Sequence[StageErrors]) -> StudyTable:
    rows: list[tuple[Cell, ...]] = []
    for each in found:
        ours, theirs = each.right[HEAD], each.right[ENCODER]
        words = np.array([_words(row) for row in each.rows])
        alone, lost = ours & ~theirs, theirs & ~ours
        rows.append(
            (
                stage_name(each.stage),
                each.made.best[each.stage].head.name,
                int((ours & theirs).sum()),
                int(alone.sum()),
                int(lost.sum()),
                int((~ours & ~theirs).sum()),
                float(words[alone].mean()) if alone.any() else None,
                float(words[lost].mean()) if lost.any() else None,
                float(words.mean()),
            )
        )
    counts = ("both right", "head alone right", "encoder alone right", "both wrong")
    lengths = ("words where the head alone is right", "words where the encoder alone is", "words of all rows")
    near = f" A value is right within {NEAR:.0%} of the range of values."
    values = found[0].made.task.kind is Kind.REGRESSION
    return StudyTable(
        name="errors",
        title=f"{found[0].made.task.name}: rows that the best head and the encoder get right",
        columns=(
            TableColumn(name="epochs", form=Form.TEXT),
            TableColumn(name="head", form=Form.TEXT),
            *(TableColumn(name=name, form=Form.COUNT) for name in counts),
            *(TableColumn(name=name, form=Form.NUMBER) for name in lengths),
        ),
        rows=tuple(rows),
        note=f"Report rows; the head has its first seed.{near if values else ''}",
    )


def _group_table(found: Sequence[StageErrors]) -> StudyTable:
    rows: list[tuple[Cell, ...]] = [
        (
            stage_name(each.stage),
            name,
            int(chosen.sum()),
            *(_share(right[chosen]) for right in each.right.values()),
        )
        for each in found
        for name, chosen in groups_of(each).items()
        if chosen.any()
    ]
    return StudyTable(
        name="errors-by-group",
        title=f"{found[0].made.task.name}: share of right answers by kinds of rows",
        columns=(
            TableColumn(name="epochs", form=Form.TEXT),
            TableColumn(name="rows", form=Form.TEXT),
            TableColumn(name="count", form=Form.COUNT),
            *(TableColumn(name=name) for name in found[0].right),
        ),
        rows=tuple(rows),
        note="Right is an exact match of spans, the class, or a value that is near. Short, middling and long "
        "are thirds of the rows by their number of words.",
    )


def _share(values: np.ndarray) -> float:
    return float(values.mean())


def groups_of(of: StageErrors) -> dict[str, np.ndarray]:
    """By label, by the first question word, and by length."""
    words = np.array([_words(row) for row in of.rows])
    low, high = np.percentile(words, [100 / 3, 200 / 3])
    lengths = {"short": words <= low, "middling": (words > low) & (words <= high), "long": words > high}
    kinds: dict[str, np.ndarray] = {}
    if of.made.task.kind is Kind.SPAN:
        asked = np.array([question_word(row.text_a) for row in of.rows])
        kinds = {f"{name} …?": asked == name for name in (*QUESTIONS, "other")}
    return {**_by_label(of), **kinds, **lengths}


def _by_label(of: StageErrors) -> dict[str, np.ndarray]:
    outcome, task = of.evaluations[ENCODER].outcome, of.made.task
    if task.kind is Kind.SPAN:
        answered = outcome[:, HAS_ANSWER] == 1.0
        return {"with an answer (HasAns)": answered, "without one (NoAns)": ~answered}
    gold = outcome[:, 1]
    if isinstance(task, ClassificationTask):
        return {f"label {name}": gold == number for number, name in enumerate(task.labels)}
    low, high = np.percentile(gold, [100 / 3, 200 / 3])
    return {
        f"value up to {low:.2f}": gold <= low,
        f"above {low:.2f}, up to {high:.2f}": (gold > low) & (gold <= high),
        f"above {high:.2f}": gold > high,
    }


def question_word(question: str) -> str:
    """The first of its words that asks."""
    words = (word.strip("?,.\"'").lower() for word in question.split())
    return next((word for word in words if word in QUESTIONS), "other")


def _words(row: Row) -> int:
    """Of spans, of the passage."""
    texts = (row.text_b,) if row.answers is not None else (row.text_a, row.text_b)
    return sum(len((text or "").split()) for text in texts)


def _span_table(found: Sequence[StageErrors]) -> StudyTable:
    return StudyTable(
        name="errors-spans",
        title=f"{found[0].made.task.name}: with an answer, without, and the second choice",
        columns=(
            TableColumn(name="epochs", form=Form.TEXT),
            TableColumn(name="model", form=Form.TEXT),
            TableColumn(name="HasAns EM"),
            TableColumn(name="NoAns EM"),
            TableColumn(name="wrong and silent", form=Form.SHARE),
            TableColumn(name="second choice right", form=Form.SHARE),
        ),
        rows=tuple(
            (stage_name(each.stage), fact.title, fact.has_answer, fact.no_answer, fact.silent, fact.second)
            for each in found
            for fact in each.spans
        ),
        note="Wrong and silent: of the questions with an answer that were answered wrongly, how many were "
        "called unanswerable. Second choice right: of all wrong answers, how often the most likely span of "
        "another text was exactly right.",
    )


def _readings(of: StageErrors) -> Iterator[DisputedRow]:
    said = {name: _said(of, of.logits[name]) for name in (HEAD, ENCODER)}
    for title, one, other in (
        ("only the head is right", HEAD, ENCODER),
        ("only the encoder is right", ENCODER, HEAD),
    ):
        for number in np.flatnonzero(_only(of, one, other))[:READ]:
            row = of.rows[number]
            texts = (text for text in (row.text_a, row.text_b) if text)
            yield DisputedRow(
                title=f"{after(of.stage)}, {title}",
                texts=tuple(text[:LONGEST] for text in texts),
                truth=_truth(of, row),
                head=said[HEAD](row),
                encoder=said[ENCODER](row),
            )


def _said(of: StageErrors, logits: Sequence[np.ndarray]) -> Callable[[Row], str]:
    answers = {row["id"]: row["prediction"] for row in of.made.task.answers(of.judged.index, logits)}
    return lambda row: _spelt(answers[row.id])


def _spelt(answer: object) -> str:
    if isinstance(answer, float):
        return f"{answer:.2f}"
    return str(answer) or "no answer"


def _truth(of: StageErrors, row: Row) -> str:
    if row.answers is not None:
        return " / ".join(dict.fromkeys(answer.text for answer in row.answers)) or "no answer"
    assert row.label is not None, "report rows have labels"
    task = of.made.task
    return task.labels[int(row.label)] if isinstance(task, ClassificationTask) else f"{row.label:.2f}"
