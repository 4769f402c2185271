import io
import re
import shutil
from pathlib import Path

import pytest

from bv_search.command import Progress
from bv_search.encoder.checkpoint import load_encoder
from bv_search.encoder.stage import is_stage, read_stage
from bv_search.errors import DataError, EncoderError, OutputError, UnknownName
from bv_search.finetune.finetuning import run, to_json
from tests.finetune.conftest import Configure, weights_of

QUIET = Progress(quiet=True)


def test_a_run_leaves_a_stage_at_every_fraction(configure: Configure) -> None:
    config = configure(fractions=(1.0, 0.0, 0.3))
    stages = run(config, QUIET)
    assert [saved.path.name for saved in stages] == ["0", "0.3", "1"]
    assert sorted(path.name for path in config.out.iterdir()) == [".lock", "0", "0.3", "1"]
    assert len(set(weights_of(stages).values())) == 3
    assert all(read_stage(saved.path) == saved.stage and not saved.kept for saved in stages)


def test_a_fraction_asked_for_twice_is_one_stage(configure: Configure) -> None:
    stages = run(configure(fractions=(0.3, 0.1 + 0.2, 0.0, -0.0)), QUIET)
    assert [saved.path.name for saved in stages] == ["0", "0.3"]


def test_finished_stages_are_kept_and_others_added(configure: Configure) -> None:
    config = configure(fractions=(0.3,))
    (first,) = run(config, QUIET)
    before = (first.path / "model.safetensors").stat().st_mtime_ns
    told = io.StringIO()
    again, added = run(configure(fractions=(0.3, 0.6)), Progress(stream=told))
    assert (again.kept, added.kept) == (True, False)
    assert (again.path / "model.safetensors").stat().st_mtime_ns == before
    assert f"stage {first.path} is there already: kept" in told.getvalue()
    assert all(saved.kept for saved in run(configure(fractions=(0.3, 0.6)), QUIET))


@pytest.mark.parametrize(
    ("change", "differs"),
    [
        ({"seed": 1}, "seed 0"),
        ({"learning_rate": 1e-4}, r"learning_rate 0\.001"),
        ({"batch": 4}, "batch 8"),
        ({"accumulate": 2}, "--workers × --accumulate 1"),
    ],
)
def test_stages_of_other_settings_are_refused(
    configure: Configure, change: dict[str, object], differs: str
) -> None:
    run(configure(fractions=(0.1,)), QUIET)
    with pytest.raises(OutputError, match=f"was made with other settings; found {differs}; choose"):
        run(configure(fractions=(0.5,), **change), QUIET)


def test_how_little_memory_was_taken_is_no_setting(configure: Configure, tmp_path: Path) -> None:
    """A folder begun without --checkpointing goes on with it, to the same bits."""
    run(configure(fractions=(0.1,)), QUIET)
    first, second = run(configure(fractions=(0.1, 0.3), checkpointing=True), QUIET)
    assert (first.kept, second.kept) == (True, False)
    alone = run(configure(fractions=(0.1, 0.3), out=tmp_path / "alone"), QUIET)
    assert weights_of(alone) == weights_of([first, second])
    for name in ("config.json", "model.safetensors"):
        assert (second.path / name).read_bytes() == (alone[1].path / name).read_bytes()


def test_a_stage_says_in_how_many_parts_its_steps_were_read(configure: Configure) -> None:
    (saved,) = run(configure(fractions=(0.1,), accumulate=2), QUIET)
    assert read_stage(saved.path).parts == 2


def test_stages_of_other_data_are_refused(configure: Configure, rte_folder: Path, tmp_path: Path) -> None:
    run(configure(fractions=(0.1,)), QUIET)
    other = shutil.copytree(rte_folder, tmp_path / "other")
    lines = (other / "train.tsv").read_text().splitlines()
    (other / "train.tsv").write_text("\n".join(lines[:-1]))
    with pytest.raises(OutputError, match="found another data"):
        run(configure(fractions=(0.1,), data=str(other)), QUIET)


def test_a_stage_is_not_fine_tuned_again(configure: Configure, tmp_path: Path) -> None:
    untouched, tuned = run(configure(fractions=(0.0, 0.1)), QUIET)
    with pytest.raises(EncoderError, match=r"is a stage already.*made from"):
        run(configure(encoder=str(tuned.path), out=tmp_path / "more"), QUIET)
    assert run(configure(encoder=str(untouched.path), out=tmp_path / "more"), QUIET)


def test_a_cut_that_large_groups_spoil_is_told_once(configure: Configure, tmp_path: Path) -> None:
    folder = tmp_path / "frequent"
    folder.mkdir()
    lines = [f"{n}\t{'the same' if n < 95 else n}\tthe other {n}\tentailment" for n in range(100)]
    for name in ("train", "dev"):
        (folder / f"{name}.tsv").write_text("\n".join(["index\tsentence1\tsentence2\tlabel", *lines]) + "\n")
    told = io.StringIO()
    run(configure(data=str(folder), fractions=(0.0, 0.1)), Progress(stream=told))
    assert told.getvalue().count("select has 2 of 100 rows where 50 were wanted: ") == 1


def test_answers_that_are_lost_to_the_tokenizer_are_told(configure: Configure, lossy_data: Path) -> None:
    told = io.StringIO()
    run(configure(task="squad2-span", data=str(lossy_data), fractions=(0.1,)), Progress(stream=told))
    assert re.search(r"^1 of \d+ answers could not be placed in any window: ", told.getvalue(), re.MULTILINE)


@pytest.mark.parametrize("task", ["squad2-span", "squad2-answerable"])
def test_questions_on_passages_are_a_task_too(configure: Configure, generated_data: Path, task: str) -> None:
    (saved,) = run(configure(task=task, data=str(generated_data), fractions=(0.2,)), QUIET)
    assert load_encoder(saved.path).has_pooler is (task == "squad2-answerable")
    assert 0 <= saved.stage.metrics["report"]["score"] <= 1


def test_bad_input_is_refused_before_any_work(configure: Configure, tmp_path: Path) -> None:
    bad: list[tuple[type[Exception], dict[str, object]]] = [
        (UnknownName, {"task": "mprc"}),
        (EncoderError, {"encoder": str(tmp_path / "nothing")}),
        (EncoderError, {"encoder": "bert-large-uncased"}),
        (EncoderError, {"device": "abacus"}),
        (DataError, {"data": str(tmp_path / "nothing")}),
    ]
    for error, change in bad:
        with pytest.raises(error):
            run(configure(**change), QUIET)
        assert not configure().out.exists()


def test_json_is_what_the_design_says(configure: Configure) -> None:
    value = to_json(run(configure(fractions=(0.0, 0.1)), QUIET))
    assert list(value) == ["stages"]
    assert [stage["fraction"] for stage in value["stages"]] == [0, 0.1]
    for stage in value["stages"]:
        assert {"fraction", "path", "metrics", "seconds"} <= set(stage)
        assert is_stage(Path(stage["path"]))
    assert value["stages"][0]["metrics"] == {}
    assert set(value["stages"][1]["metrics"]) == {"score", "accuracy"}
