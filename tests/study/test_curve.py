"""The encoder's own score at every stage."""

from pathlib import Path

from bv_search.study.config import StudiesConfig
from bv_search.study.curve import study_curve
from bv_search.study.folder import StudyFolder


def test_each_stage_has_the_score_that_it_was_saved_with(made: StudyFolder) -> None:
    section = study_curve(made)
    (table,) = section.tables
    names = [column.name for column in table.columns]
    for row, (fraction, stage) in zip(table.rows, made.stages.items(), strict=True):
        said = dict(zip(names, row, strict=True))
        assert said["epochs"] == f"{fraction:g}"
        assert said["score"] == stage.metrics["report"]["score"]
        assert said["exact"] == stage.metrics["report"]["exact"]
    assert len(section.figures) == 1


def test_the_sentence_names_the_best_stage(made: StudyFolder) -> None:
    made.stages[0.3].metrics["report"]["score"] += 0.01  # type: ignore[index]
    (sentence,) = study_curve(made).sentences
    assert "is highest after 0.3 epochs: " in sentence
    assert f"{made.stages[0.3].metrics['report']['score']:.4f}" in sentence


def test_where_nothing_was_fine_tuned_there_is_no_curve(tmp_path: Path) -> None:
    section = study_curve(StudyFolder(config=StudiesConfig(task="mrpc", encoder="bert", out=tmp_path)))
    assert section.sentences == ("No stage was fine-tuned, so the encoder has no answers of its own.",)
    assert section.figures == ()
    assert section.tables[0].rows == ()
