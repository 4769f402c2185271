"""Study 1: the encoder's own score at every stage."""

from bv_search.encoder.stage import Stage, epochs, stage_name
from bv_search.study.figures import curve_figure
from bv_search.study.folder import StudyFolder
from bv_search.study.section import Section
from bv_search.study.table import Form, StudyTable, TableColumn, interval


def study_curve(made: StudyFolder) -> Section:
    table, best = curve_table(made), _best(made)
    sentences = ["No stage was fine-tuned, so the encoder has no answers of its own."]
    if best is not None:
        fraction, stage = best
        sentences = [
            f"The encoder's own score is highest after {epochs(fraction)}: {_score(stage):.4f} "
            f"({interval(stage.interval)}), after {stage.seconds:.0f} seconds of fine-tuning."
        ]
    figures = [figure] if (figure := curve_figure(made)) else []
    return Section(
        study="curve",
        title="What fine-tuning alone gives",
        sentences=tuple(sentences),
        tables=(table,),
        figures=tuple(figures),
    )


def curve_table(made: StudyFolder) -> StudyTable:
    scored = [stage for stage in made.stages.values() if stage.metrics]
    names = [name for name in (scored[0].metrics["report"] if scored else {}) if name != "score"]
    return StudyTable(
        name="curve",
        title=f"{made.task.name}: the encoder's own answers after so many epochs of fine-tuning",
        columns=(
            TableColumn(name="epochs", form=Form.TEXT),
            TableColumn(name="rows seen", form=Form.COUNT),
            TableColumn(name="seconds", form=Form.COUNT),
            TableColumn(name="score"),
            TableColumn(name="95 % interval", form=Form.TEXT),
            *(TableColumn(name=name) for name in names),
        ),
        rows=tuple(
            (
                stage_name(fraction),
                stage.rows,
                round(stage.seconds, 1),
                _score(stage) if stage.metrics else None,
                interval(stage.interval),
                *(stage.metrics["report"].get(name) if stage.metrics else None for name in names),
            )
            for fraction, stage in made.stages.items()
        ),
        note=f"The score is {made.task.metric} on report rows. Seconds are of training alone.",
    )


def _best(made: StudyFolder) -> tuple[float, Stage] | None:
    scored = [(fraction, stage) for fraction, stage in made.stages.items() if stage.metrics]
    return max(scored, key=lambda each: _score(each[1]), default=None)


def _score(stage: Stage) -> float:
    return stage.metrics["report"]["score"]
