"""Heads that ride along learn by themselves."""

from bv_search.command import Progress
from bv_search.finetune.finetuning import run
from bv_search.run.folder import Run
from bv_search.run.trial import DONE, FAILED
from tests.finetune.conftest import LINEAR, Configure, of_heads

QUIET = Progress(quiet=True)


def test_a_head_that_diverges_leaves_and_the_others_ride_on(configure: Configure) -> None:
    rates = {"choice": [3e-3, 1e37]}
    config = configure(fractions=(0.5,), heads=of_heads(LINEAR, learning_rate=rates, inputs="raw"))
    (stage,) = run(config, QUIET)
    assert stage.heads is not None
    found = {trial.config["learning_rate"]: trial for trial in Run.open(stage.heads.path).trials()}
    assert found[3e-3].status == DONE
    assert found[1e37].status == FAILED
    assert str(found[1e37].reason).startswith("diverged: ")
