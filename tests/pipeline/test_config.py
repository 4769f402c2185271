"""The steps of the pipeline leave what they make in one folder, each where the next one looks for it."""

from pathlib import Path

from bv_search.pipeline.config import PipelineConfig

CONFIG = PipelineConfig(task="mrpc", encoder="bert", out=Path("out"), data="here", fraction=0.5, trials=7)


def test_each_step_begins_where_the_one_before_ended() -> None:
    finetuning, search = CONFIG.finetuning(), CONFIG.search(resume=True)
    extraction = CONFIG.extraction(finetuning.out / "0.5")
    assert (finetuning.out, finetuning.marks) == (Path("out/stages"), (0.5,))
    assert extraction.encoder == "out/stages/0.5"
    assert search.store == extraction.out == "out/store"
    assert (search.runs / search.name if search.name else None) == Path("out/run")


def test_all_steps_are_of_one_task_and_its_data() -> None:
    finetuning, extraction = CONFIG.finetuning(), CONFIG.extraction(Path("stage"))
    assert finetuning.task == extraction.task == "mrpc"
    assert finetuning.data == extraction.data == "here"


def test_a_search_has_the_trials_that_are_asked_for_and_may_go_on() -> None:
    assert CONFIG.search(resume=False).trials == 7
    assert [CONFIG.search(resume=each).resume for each in (False, True)] == [False, True]
