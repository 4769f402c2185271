"""A stage keeps the heads that came to it."""

from bv_search.command import Progress
from bv_search.finetune.finetuning import run, to_json
from bv_search.finetune.stage_folder import SavedStage
from bv_search.run.folder import Run
from bv_search.run.trial import DONE
from bv_search.run.verify import verify_run
from tests.finetune.conftest import LINEAR, Configure, of_heads

QUIET = Progress(quiet=True)


def test_each_stage_has_a_run_of_heads_and_stage_0_has_none(ridden: list[SavedStage]) -> None:
    untouched, *stages = ridden
    assert untouched.heads is None
    for stage in stages:
        assert stage.heads is not None
        assert stage.heads.path == stage.path.parent / "heads" / stage.path.name
        trials = Run.open(stage.heads.path).finished_trials()
        assert [trial.status for trial in trials] == [DONE] * 4
        assert trials[0] == stage.heads.best
        assert all(trial.interval is not None and trial.draws and trial.rows > 0 for trial in trials)
        assert (stage.heads.path / "leaderboard.csv").read_text().count("\n") == 5
        assert verify_run(Run.open(stage.heads.path), QUIET).ok
    assert sorted(path.name for path in untouched.path.parent.iterdir()) == [
        ".lock",
        "0",
        "0.5",
        "2",
        "heads",
    ]


def test_where_all_have_failed_the_stage_is_there_all_the_same(configure: Configure) -> None:
    space = of_heads(LINEAR, learning_rate=1e37, inputs="raw")
    (stage,) = run(configure(fractions=(0.5,), heads=space), QUIET)
    assert stage.heads is not None
    assert stage.heads.best is None
    assert stage.stage.metrics["report"]["score"] >= 0
    assert to_json([stage])["stages"][0]["heads"]["best"] is None
