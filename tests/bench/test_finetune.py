"""Fine-tuning beside the loop that one would write oneself."""

import json
from pathlib import Path

import pytest

from bv_search.bench.__main__ import COMMAND
from bv_search.command import main


def test_fine_tuning_is_compared_with_a_padded_loop(
    tiny_encoder: Path, generated_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--encoder", str(tiny_encoder), "--data", str(generated_data), "--windows", "16"]
    assert main(COMMAND, ["finetune", *options, "--rounds", "1", "--json", "--quiet"]) == 0
    said = json.loads(capsys.readouterr().out)
    arms = {"padded to maximum", "finetune, float32", "finetune, bfloat16"}
    assert set(said["arms"]) == arms
    assert len({arm["tokens"] for arm in said["arms"].values()}) == 1, "all arms take the same windows"
    assert set(said["ratios"]) == {f"{arm} / padded to maximum" for arm in arms - {"padded to maximum"}}
