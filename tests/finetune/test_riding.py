import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from bv_search.command import Progress, main
from bv_search.encoder.stage import read_stage
from bv_search.errors import HeadError, OutputError, SpaceError, StoreError, UserError
from bv_search.finetune.__main__ import COMMAND
from bv_search.finetune.config import FinetuneConfig
from bv_search.finetune.finetuning import run
from bv_search.finetune.saved_training import FOLDER
from bv_search.finetune.stage_folder import SavedStage
from bv_search.heads.alone import HeadAlone
from bv_search.model.answer import answer_rows
from bv_search.model.loading import open_model
from bv_search.run.folder import Run
from bv_search.run.roles import open_store
from bv_search.run.trial import DONE
from bv_search.tasks.dataset import load_dataset
from bv_search.tasks.registry import find_task
from bv_search.tasks.row import Role
from tests.finetune.conftest import LINEAR, SMALL, SPACE, Configure, of_heads

QUIET = Progress(quiet=True)


def weights(out: Path, stage: str) -> dict[str, bytes]:
    """Of every head at a stage."""
    folder = out / "heads" / stage / "trials"
    return {path.parent.name: path.read_bytes() for path in sorted(folder.glob("*/model.safetensors"))}


def test_the_encoder_comes_out_as_without_riders(configure: Configure, ridden: list[SavedStage]) -> None:
    alone = run(configure(fractions=(0.5, 2.0)), QUIET)
    along = ridden[1:]
    assert [stage.stage.weights for stage in alone] == [stage.stage.weights for stage in along]
    assert [stage.stage.metrics for stage in alone] == [stage.stage.metrics for stage in along]


def test_heads_of_a_stage_do_not_depend_on_other_stages(
    configure: Configure, ridden: list[SavedStage]
) -> None:
    config = configure(fractions=(2.0,), heads=SPACE)
    run(config, QUIET)
    found = weights(config.out, "2")
    assert len(found) == 4
    assert found == weights(ridden[-1].path.parent, "2")
    assert found != weights(ridden[-1].path.parent, "0.5")


def test_heads_answer_text_as_they_were_scored(ridden: list[SavedStage], rte_folder: Path) -> None:
    stage = ridden[-1]
    assert stage.heads is not None
    assert stage.heads.best is not None
    model = open_model(stage.heads.path)
    rows = load_dataset(find_task("rte"), str(rte_folder)).rows(Role.REPORT)
    answers = answer_rows(model, model.load_encoder(), rows)
    assert answers.evaluation is not None
    assert answers.evaluation.score == stage.heads.best.report_score
    alone = HeadAlone.from_pretrained(stage.heads.path / "trials" / stage.heads.best.id)
    assert alone.parameter_count() == stage.heads.best.parameters


def test_heads_learn_while_the_encoder_does(configure: Configure) -> None:
    (stage,) = run(configure(fractions=(12.0,), heads=SPACE), QUIET)
    assert stage.heads is not None
    assert stage.heads.best is not None
    assert stage.heads.best.report_score is not None
    assert stage.heads.best.report_score > 0.9, "one word gives the label away"


def test_who_needs_a_store_is_told_that_there_is_none(ridden: list[SavedStage]) -> None:
    assert ridden[-1].heads is not None
    with pytest.raises(StoreError, match=r"rode along with fine-tuning, so there is no store.*extract"):
        open_store(Run.open(ridden[-1].heads.path))


def test_finished_heads_are_kept_and_stages_without_get_theirs(
    configure: Configure, ridden: list[SavedStage]
) -> None:
    plain = run(configure(fractions=(0.5, 2.0)), QUIET)
    before = [(stage.path / "model.safetensors").stat().st_mtime_ns for stage in plain]
    config = configure(fractions=(0.5, 2.0), heads=SPACE)
    first = run(config, QUIET)
    assert [(stage.path / "model.safetensors").stat().st_mtime_ns for stage in first] == before
    assert weights(config.out, "0.5") == weights(ridden[-1].path.parent, "0.5")
    again = run(config, QUIET)
    assert all(stage.kept and stage.heads is not None for stage in again)
    assert not (config.out / FOLDER).exists()


def test_heads_of_another_ride_are_refused(configure: Configure) -> None:
    run(configure(fractions=(0.3,), heads=SPACE), QUIET)
    with pytest.raises(OutputError, match="rode along otherwise; found another trials; choose"):
        run(configure(fractions=(0.3,), heads=SPACE, trials=3), QUIET)


def test_a_plateau_ends_fine_tuning_and_stays_the_end(configure: Configure) -> None:
    """Nothing is learned at such a rate, so no stage is better than the first."""
    still = of_heads(LINEAR, learning_rate=1e-12)
    config = configure(fractions=(0.1, 0.2, 0.3, 0.4, 9.0), heads=still, until_heads_plateau=2)
    told = io.StringIO()
    stages = run(config, Progress(stream=told))
    assert [stage.path.name for stage in stages] == ["0.1", "0.2", "0.3"]
    assert "fine-tuning ends at 0.3: select stays at 0." in told.getvalue()
    assert not (config.out / FOLDER).exists()
    told = io.StringIO()
    assert all(stage.kept for stage in run(config, Progress(stream=told)))
    assert "fine-tuning ends at 0.3" in told.getvalue()
    assert "fine-tuning: step" not in told.getvalue()


@pytest.mark.parametrize(
    ("task", "heads"),
    [
        ("squad2-span", [LINEAR, SMALL]),
        ("squad2-answerable", [{"kind": "attention"}, SMALL]),
    ],
)
def test_spans_and_heads_of_all_tokens_ride_too(
    configure: Configure, generated_data: Path, task: str, heads: list[dict[str, Any]]
) -> None:
    config = configure(task=task, data=str(generated_data), fractions=(0.2,), heads=of_heads(*heads))
    (stage,) = run(config, QUIET)
    assert stage.heads is not None
    assert [trial.status for trial in Run.open(stage.heads.path).trials()] == [DONE] * len(heads)
    about = json.loads((stage.heads.path / "trials" / "0000" / "config.json").read_text())
    assert about["tokens"] == "all"


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"trials": 3}, UserError, "--trials is of heads that ride along; expected --heads SPACE"),
        ({"until_heads_plateau": 2}, UserError, "--until-heads-plateau is of heads that ride along"),
        ({"heads": SPACE, "until_heads_plateau": 0}, UserError, "a whole number above 0; found 0"),
        ({"heads": "adaptors"}, UserError, "did you mean 'adapters'"),
        ({"heads": of_heads({"kind": "linear", "channels": 9})}, HeadError, "there is no such channel"),
        ({"heads": {**SPACE, "max_parameters": 3}}, SpaceError, "has no head that may ride along"),
        ({"heads": "adapters", "trials": 65}, UserError, "do not fit beside the encoder; expected --trials"),
    ],
)
def test_bad_rides_are_refused_before_any_stage(
    configure: Configure, change: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        run(configure(fractions=(0.0, 0.3), **change), QUIET)
    out = configure().out
    assert not out.exists() or [path.name for path in out.iterdir()] == [".lock"]


def test_bad_options_are_one_line_and_status_2(capfd: pytest.CaptureFixture[str]) -> None:
    given = ["--task=rte", "--encoder=none", "--fractions=1", "--out=/tmp/none", "--until-heads-plateau=2"]
    assert main(COMMAND, given) == 2
    assert capfd.readouterr().err.count("\n") == 1


def command(config: FinetuneConfig, space: Path, *more: str) -> list[str]:
    return [
        *(f"--task={config.task}", f"--encoder={config.encoder}", f"--data={config.data}"),
        *(f"--fractions={','.join(map(str, config.fractions))}", f"--out={config.out}"),
        *(f"--learning-rate={config.learning_rate}", f"--heads={space}", *more),
    ]


def test_a_killed_ride_goes_on_to_the_same_bits(
    configure: Configure, ridden: list[SavedStage], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    space = tmp_path / "own.yaml"
    space.write_text(yaml.safe_dump(SPACE, sort_keys=False))  # heads are drawn in this order
    config = configure(fractions=(0.5, 40.0))
    process = subprocess.Popen(
        [sys.executable, "-m", "bv_search.finetune", *command(config, space)],
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        env=os.environ,
    )
    deadline = time.monotonic() + 120
    while not list((config.out / FOLDER).glob("[0-9]*")) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert list((config.out / FOLDER).glob("[0-9]*")), "a checkpoint follows a stage"
    going_on = configure(fractions=(0.5, 2.0))
    assert main(COMMAND, command(going_on, space)) == 0
    assert "going on from step 4" in capfd.readouterr().err
    assert weights(config.out, "2") == weights(ridden[-1].path.parent, "2")
    assert read_stage(config.out / "2").weights == ridden[-1].stage.weights
    assert not (config.out / FOLDER).exists()


def test_a_checkpoint_that_cannot_be_kept_is_told_and_costs_no_stage(configure: Configure) -> None:
    config = configure(fractions=(0.3, 0.6))
    config.out.mkdir()
    (config.out / FOLDER).touch()
    told = io.StringIO()
    assert len(run(config, Progress(stream=told))) == 2
    assert "no checkpoint is kept, fine-tuning goes on without: " in told.getvalue()
