"""What a search finds at each stage."""

from bv_search.study.folder import StudyFolder
from bv_search.study.searches import study_searches
from bv_search.study.steps import SEARCH


def test_the_winner_of_each_search_is_its_best_head_that_was_proposed(made: StudyFolder) -> None:
    section = study_searches(made)
    run = made.run(SEARCH, 1.0)
    assert run is not None
    winner = next(record for record in run.finished_trials() if record.is_searched)
    (row,) = section.tables[0].rows
    said = dict(zip([column.name for column in section.tables[0].columns], row, strict=True))
    assert (said["epochs"], said["trials"]) == ("1", 3)
    assert (said["select"], said["report"]) == (winner.score, winner.report_score)
    assert said["parameters"] == winner.parameters
    assert section.tables[0].note.startswith("The space is adapters.")
    (sentence,) = section.sentences
    assert sentence.startswith(f"After 1 epoch the winner has {winner.parameters:,} parameters: ")
    assert sentence.endswith(f"report {winner.report_score:.4f}.")
