import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from bv_search.command import build_parser, main
from bv_search.encoder.stage import is_stage, read_stage
from bv_search.finetune.__main__ import COMMAND
from bv_search.finetune.config import FinetuneConfig

Configure = Callable[..., FinetuneConfig]


def arguments(config: FinetuneConfig, *more: str) -> list[str]:
    return [
        f"--task={config.task}",
        f"--encoder={config.encoder}",
        f"--fractions={','.join(str(fraction) for fraction in config.fractions)}",
        f"--out={config.out}",
        f"--data={config.data}",
        f"--learning-rate={config.learning_rate}",
        *more,
    ]


def test_the_options_are_these() -> None:
    options = {option for action in build_parser(COMMAND)._actions for option in action.option_strings}
    assert options == {
        *("-h", "--help", "--json", "--quiet", "--data", "--task", "--encoder", "--fractions", "--out"),
        *("--seed", "--learning-rate", "--batch", "--device", "--precision"),
        *("--workers", "--accumulate", "--dry-run", "--checkpointing"),
        *("--heads", "--trials", "--until-heads-plateau"),
    }


def test_standard_output_is_one_json_object(configure: Configure, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(COMMAND, arguments(configure(), "--json", "--quiet")) == 0
    out, err = capfd.readouterr()
    assert [stage["fraction"] for stage in json.loads(out)["stages"]] == [0.3, 1.0]
    assert err == ""


def test_for_a_reader_there_is_a_line_per_stage(
    configure: Configure, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(COMMAND, arguments(configure(fractions=(0.0, 0.3)), "--quiet")) == 0
    lines = capfd.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines] == [["stage", "0"], ["stage", "0.3"]]
    assert "report" in lines[1]


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"task": "mprc"}, "no task named 'mprc'; expected one of"),
        ({"fractions": (-1.0,)}, "a fraction of epochs is wrong"),
        ({"encoder": "bert-large-uncased"}, "bert-large-uncased: is not a local folder"),
        ({"data": "/nowhere"}, "/nowhere: does not exist"),
    ],
)
def test_bad_input_is_one_line_and_status_2(
    configure: Configure, capfd: pytest.CaptureFixture[str], change: dict[str, object], line: str
) -> None:
    arguments_ = arguments(configure(), "--quiet")
    if change == {"fractions": (-1.0,)}:
        arguments_.append("--fractions=-1")
    else:
        arguments_ = arguments(configure(**change), "--quiet")
    assert main(COMMAND, arguments_) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith("bv-search finetune: ")
    assert line in err
    assert err.count("\n") == 1


def test_words_for_fractions_are_refused(configure: Configure, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(COMMAND, [*arguments(configure()), "--fractions=a third"]) == 2
    assert "expected numbers with commas, such as 0.3,1,2" in capfd.readouterr().err


def test_a_killed_run_leaves_whole_stages_and_can_go_on(configure: Configure, tmp_path: Path) -> None:
    config = configure(fractions=(0.2, 0.5, 40.0))
    command = [sys.executable, "-m", "bv_search.finetune", *arguments(config)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, env=os.environ)
    deadline = time.monotonic() + 60
    while not is_stage(config.out / "0.5") and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    kept = {name: read_stage(config.out / name) for name in ("0.2", "0.5")}
    assert not (config.out / "40").exists()
    assert main(COMMAND, arguments(configure(fractions=(0.2, 0.5, 0.7)), "--quiet")) == 0
    assert {name: read_stage(config.out / name) for name in kept} == kept
    straight = configure(fractions=(0.7,), out=tmp_path / "straight")
    assert main(COMMAND, arguments(straight, "--quiet")) == 0
    assert read_stage(straight.out / "0.7").weights == read_stage(config.out / "0.7").weights
