"""What the steps of studies have left, and nothing of what they have not."""

from bv_search.study.folder import StudyFolder
from bv_search.study.steps import GRID, SEARCH, WINNER
from tests.model.small_run import Small


def test_stages_stores_and_runs_are_found_by_stage(made: StudyFolder, small: Small) -> None:
    assert list(made.stages) == list(made.stores) == [0.3, 1.0]
    assert made.stores[1.0].digest == small.store.digest
    found = made.run(GRID, 1.0)
    assert found is not None
    assert found.path == made.config.run_path(GRID, 1.0)
    assert made.run(WINNER, 1.0) is None
    assert made.encoder_parameters == small.store.encoder_parameters


def test_the_best_head_of_a_stage_is_that_of_select(made: StudyFolder) -> None:
    for stage, heads in made.heads.items():
        assert len(heads) == 3
        assert made.best[stage].select == max(entry.select for entry in heads)


def test_probes_are_of_the_ladder_alone(made: StudyFolder) -> None:
    assert {entry.first.rung for entry in made.probes[1.0]} == {"probe"}
    assert len(made.probes[1.0]) == len(made.stores[1.0].manifest.layers) + 1


def test_shares_of_the_data_stand_from_the_least_up(made: StudyFolder) -> None:
    assert list(made.amounts) == [1.0]
    shares = [entry.share for entry in made.amounts[1.0]]
    assert shares == sorted(shares) == [0.5, 1.0]


def test_an_empty_folder_has_nothing(made: StudyFolder) -> None:
    empty = StudyFolder(config=made.config.__class__(task="mrpc", encoder="bert", out=made.config.out / "no"))
    assert (empty.stages, empty.stores, empty.heads, empty.best, empty.amounts) == ({}, {}, {}, {}, {})
    assert empty.run(SEARCH, 1.0) is None
