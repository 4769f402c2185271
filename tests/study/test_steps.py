"""Which steps studies need, and in which order."""

from pathlib import Path

from bv_search.study.config import StudiesConfig
from bv_search.study.steps import is_done, plan


def config(tmp_path: Path, **changes: object) -> StudiesConfig:
    said = {"task": "mrpc", "encoder": "bert", "out": tmp_path, "stages": (1.0, 0.3), **changes}
    return StudiesConfig(**said)  # type: ignore[arg-type]


def names(tmp_path: Path, *only: str) -> list[str]:
    return [step.name for step in plan(config(tmp_path, only=only))]


def test_a_study_needs_no_more_than_it_reads(tmp_path: Path) -> None:
    assert names(tmp_path, "curve") == ["finetune"]
    assert names(tmp_path, "layers") == ["finetune", "extract 0.3", "heads 0.3", "extract 1", "heads 1"]
    assert "data 0.3" not in names(tmp_path, "heads")
    assert names(tmp_path, "search")[-1] == "search 1"


def test_what_several_need_is_made_once(tmp_path: Path) -> None:
    whole = [step.name for step in plan(config(tmp_path))]
    assert len(whole) == len(set(whole))
    assert whole[:3] == ["finetune", "extract 0.3", "heads 0.3"]
    assert whole[-2:] == ["exchange 0.3 on 1", "exchange 1 on 0.3"]
    assert set(names(tmp_path, "curve", "layers", "heads")) == {
        *names(tmp_path, "layers"),
        *names(tmp_path, "heads"),
    }


def test_a_head_is_chosen_before_it_is_trained_again(tmp_path: Path) -> None:
    order = names(tmp_path, "answer")
    for stage in ("0.3", "1"):
        places = [order.index(f"{kind} {stage}") for kind in ("extract", "heads", "search", "winner", "data")]
        assert places == sorted(places)


def test_of_an_empty_folder_nothing_is_done(tmp_path: Path) -> None:
    asked = config(tmp_path)
    assert not any(is_done(asked, step) for step in plan(asked))
