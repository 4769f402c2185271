"""A card says what was measured, and its example runs."""

import re
from pathlib import Path

import pytest
from huggingface_hub import ModelCard

from tests.export.conftest import python_on
from tests.model.small_run import Small


def test_the_hub_reads_its_card(small: Small, exported: Path) -> None:
    card = ModelCard.load(exported / "README.md")
    best = small.run.finished_trials()[0]
    assert (card.data.library_name, card.data.pipeline_tag) == ("bv_search", "question-answering")
    assert card.data.datasets == ["rajpurkar/squad_v2"]
    found = {result.metric_type: result.metric_value for result in card.data.eval_results}
    assert found == {name: pytest.approx(value, abs=1e-4) for name, value in best.metrics.items()}
    low, high = best.interval or (0.0, 0.0)
    assert f"| **{best.report_score:.4f}** | **{low:.4f} to {high:.4f}** | {best.parameters:,} |" in card.text
    assert re.findall(r"^\| (majority|encoder|best linear probe) \| ", card.text, re.MULTILINE) == [
        "majority",
        "encoder",
        "best linear probe",
    ]


def test_the_example_on_its_card_runs(exported: Path, capsys: pytest.CaptureFixture[str]) -> None:
    example = python_on(exported / "README.md").replace("FOLDER", str(exported))
    exec(compile(example, "card", "exec"), {})
    assert capsys.readouterr().out.endswith("\n")
