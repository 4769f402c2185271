"""Who rides along on an encoder."""

import io

from bv_search.command import Progress
from bv_search.finetune.finetuning import run
from tests.finetune.conftest import LINEAR, Configure, of_heads


def test_settings_of_a_course_are_left_out_and_told(configure: Configure) -> None:
    space = of_heads(LINEAR, schedule="linear", warmup=0.1, passes=3)
    told = io.StringIO()
    (stage,) = run(configure(fractions=(0.3,), heads=space), Progress(stream=told))
    assert "; left out of the space: passes, schedule, warmup" in told.getvalue()
    assert stage.heads is not None
    assert stage.heads.best is not None
    assert stage.heads.best.config["schedule"] == "constant"
