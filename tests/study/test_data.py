"""The best head by its share of the data."""

from bv_search.study.data import rows_of, study_data
from bv_search.study.folder import StudyFolder


def test_each_share_has_its_score_and_its_rows(made: StudyFolder) -> None:
    (table,) = study_data(made).tables
    names = [column.name for column in table.columns]
    half, whole = (dict(zip(names, row, strict=True)) for row in table.rows)
    few, all_of_them = made.amounts[1.0]
    assert (half["share of the data"], whole["share of the data"]) == (0.5, 1.0)
    assert (half["score"], whole["score"]) == (few.report, all_of_them.report)
    assert rows_of(made, all_of_them) == whole["windows"] == 120
    assert rows_of(made, few) == half["windows"] == 64, "half of them, in whole micro-batches"
    own = made.stages[1.0].metrics["report"]["score"]
    assert whole["over the encoder"] == all_of_them.report - own


def test_the_sentence_says_the_least_that_is_enough(made: StudyFolder) -> None:
    (sentence,) = study_data(made).sentences
    few, all_of_them = made.amounts[1.0]
    enough = few if few.select >= all_of_them.select - all_of_them.error else all_of_them
    assert f"{100 * enough.share:.0f} % of the data ({rows_of(made, enough):,} windows)" in sentence


def test_figures_of_the_source_work_stand_beside_its_own_head_alone(made: StudyFolder) -> None:
    (table,) = study_data(made).tables
    assert "published EM" not in [column.name for column in table.columns]
