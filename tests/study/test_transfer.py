"""Heads of one stage on the hidden states of another."""

import pytest

from bv_search.files import write_signed
from bv_search.study.exchange import FORMAT_VERSION
from bv_search.study.folder import StudyFolder
from bv_search.study.transfer import study_transfer


@pytest.fixture
def exchanged(made: StudyFolder) -> StudyFolder:
    """Each stage's best head scores .25 on the other's states; the other heads do not fit them."""
    for learned, scored in ((0.3, 1.0), (1.0, 0.3)):
        best = made.best[learned]
        score = {"run": best.run.name, "trial": best.first.id, "score": 0.25, "interval": [0.2, 0.3]}
        said = {"format_version": FORMAT_VERSION, "store": made.stores[scored].digest, "why": None}
        path = made.config.exchange_path(learned, scored)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_signed(path, {**said, "scores": [score]})
    return made


def test_at_its_own_stage_a_head_scores_what_its_run_says(exchanged: StudyFolder) -> None:
    matrix, _ = study_transfer(exchanged).tables
    own = exchanged.best[1.0].report
    assert [row[2:] for row in matrix.rows] == [(own, 0.25), (0.25, own)]


def test_a_head_that_does_not_fit_has_no_score_elsewhere(exchanged: StudyFolder) -> None:
    _, table = study_transfer(exchanged).tables
    known = {row[1] for row in table.rows if row[2] is not None and row[3] is not None}
    assert known == {exchanged.best[1.0].title}
    assert len(table.rows) == 6


def test_a_sentence_sets_the_own_head_beside_the_best_of_the_others(exchanged: StudyFolder) -> None:
    first, _ = study_transfer(exchanged).sentences
    assert first.startswith("On the hidden states after 0.3 epochs the head that learned on them scores ")
    assert first.endswith("the best of the others, that of 1 epoch, 0.2500.")
