"""The way from a finished search to answers, once for every kind of task beside spans."""

import json
import random
from pathlib import Path

import pytest

from bv_search.command import Progress, main
from bv_search.ensemble.config import EnsembleConfig
from bv_search.ensemble.ensemble import run as decide
from bv_search.errors import UserError
from bv_search.model.combine import Method
from bv_search.predict.__main__ import COMMAND as PREDICT
from bv_search.report.config import ReportConfig
from bv_search.report.report import run as write
from tests.model.small_run import make_small

QUIET = Progress(quiet=True)
COLUMNS = {
    "sst2": ("sentence", "label"),
    "stsb": ("sentence1", "sentence2", "score"),
    "mnli": ("sentence1", "sentence2", "gold_label"),
}
FILES = {
    "sst2": ("train", "dev"),
    "stsb": ("train", "dev"),
    "mnli": ("train", "dev_matched", "dev_mismatched"),
}
WORDS = "the red house green hill old river stands above below beside never always"


def target(task: str, texts: tuple[str, ...]) -> str:
    """Something that a text decides, so that there is something to learn."""
    if task == "sst2":
        return str(int("red" in texts[0]))
    if task == "stsb":
        return str(round(5 * ("red" in texts[0]) / (1 + len(set(texts[1].split()))), 2))
    return ("entailment", "neutral", "contradiction")[("red" in texts[0]) + ("old" in texts[1])]


def write_data(folder: Path, task: str) -> Path:
    folder.mkdir()
    rng = random.Random(0)
    for name in FILES[task]:
        rows = ["\t".join(COLUMNS[task])]
        for _ in range(160 if name == "train" else 40):
            texts = tuple(" ".join(rng.choices(WORDS.split(), k=6)) for _ in COLUMNS[task][1:])
            rows.append("\t".join((*texts, target(task, texts))))
        (folder / f"{name}.tsv").write_text("\n".join(rows) + "\n")
    return folder


@pytest.mark.parametrize("task", ["sst2", "stsb", "mnli"])
def test_ensemble_report_and_predict(
    task: str, tiny_encoder: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    data = write_data(tmp_path / "data", task)
    small = make_small(task, tiny_encoder, data, tmp_path / "work", fraction=1.0)
    place = str(small.run.path)

    if task == "stsb":
        with pytest.raises(
            UserError, match="cannot combine a regression task by max; expected one of mean, greedy"
        ):
            decide(EnsembleConfig(runs=(place,), method=Method.MAX, mlflow=False), QUIET)
    result = decide(EnsembleConfig(runs=(place,), mlflow=False), QUIET).to_json()
    alone = result["considered"][-1]
    assert alone["method"] == Method.SINGLE
    assert alone["select_score"] >= max(record.score or 0 for record in small.run.trials())

    write(ReportConfig(runs=(place,), mlflow=False), QUIET)
    markdown = (small.run.path / "report.md").read_text()
    assert ("Where they part ways" in markdown) is (task != "stsb")
    assert ("\n| mean (trial majority" in markdown) is (task == "stsb")
    if task != "stsb":
        assert "\n| best linear probe |" in markdown.partition("## Where they part ways")[2]
    assert "With an answer, and without" not in markdown

    assert main(PREDICT, [place, "--json", "--quiet"]) == 0
    stored = json.loads(capfd.readouterr().out.splitlines()[-1])
    assert stored["predictions"] == 40 * (len(FILES[task]) - 1)
    assert stored["score"] == pytest.approx(result["score"])
    assert Path(stored["out"]).suffix == ".jsonl"

    out = tmp_path / "answers.tsv"
    assert main(PREDICT, [place, "--data", str(data), "--out", str(out), "--json", "--quiet"]) == 0
    live = json.loads(capfd.readouterr().out.splitlines()[-1])
    assert live["score"] == pytest.approx(stored["score"], abs=0.03)
    header, *rows = out.read_text().splitlines()
    assert header == "index\tprediction"
    assert len(rows) == live["predictions"]
