import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from bv_search.command import Progress, main
from bv_search.extract.config import ExtractConfig
from bv_search.extract.extraction import run as extract
from bv_search.model.loading import open_model
from bv_search.predict.__main__ import COMMAND
from bv_search.predict.config import PredictConfig
from bv_search.predict.predict import default_out
from bv_search.predict.predict import run as answer
from bv_search.run import Run
from bv_search.tasks.evaluation import Evaluation
from bv_search.tasks.squad_score import f1
from tests.model.small_run import Small, make_stage, make_store


@pytest.fixture
def predict(capfd: pytest.CaptureFixture[str]) -> Any:
    def call(*arguments: object) -> tuple[int, dict[str, Any], str]:
        capfd.readouterr()
        status = main(COMMAND, [*map(str, arguments), "--json", "--quiet"])
        out, err = capfd.readouterr()
        return status, json.loads(out.splitlines()[-1]) if status == 0 else {}, err

    return call


def test_a_run_answers_its_report_rows_in_the_official_form(run: Run, small: Small, predict: Any) -> None:
    status, value, _ = predict(run.path, "--out", run.path / "answers.json")
    answers = json.loads((run.path / "answers.json").read_text())
    dev = json.loads((small.data / "dev.json").read_text())
    questions = [
        question
        for article in dev["data"]
        for paragraph in article["paragraphs"]
        for question in paragraph["qas"]
    ]
    assert status == 0
    assert set(answers) == {question["id"] for question in questions}
    assert value["predictions"] == len(questions)
    assert value["out"] == str(run.path / "answers.json")
    by_hand = [
        max(f1(gold, answers[question["id"]]) for gold in [a["text"] for a in question["answers"]] or [""])
        for question in questions
    ]
    assert value["metrics"]["f1"] == pytest.approx(sum(by_hand) / len(by_hand))
    assert value["score"] == run.finished_trials()[0].report_score


def test_the_interval_of_its_score_is_drawn_once(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn, interval = list[Evaluation](), Evaluation.interval

    def watched(asked: Evaluation) -> tuple[float, float]:
        drawn.append(asked)
        return interval(asked)

    monkeypatch.setattr(Evaluation, "interval", watched)
    config = PredictConfig(place=str(run.path), out=str(tmp_path / "answers.json"))
    result = answer(config, Progress(quiet=True))
    low, high = result.to_json()["interval"]
    assert f"{low:.4f} to {high:.4f}" in result.text()
    assert len(drawn) == 1


def test_new_rows_need_no_labels(run: Run, small: Small, tmp_path: Path, predict: Any) -> None:
    dev = json.loads((small.data / "dev.json").read_text())
    for article in dev["data"]:
        for paragraph in article["paragraphs"]:
            paragraph["qas"] = [{"id": q["id"], "question": q["question"]} for q in paragraph["qas"]]
    (tmp_path / "new.json").write_text(json.dumps(dev))
    status, value, _ = predict(run.path, "--data", tmp_path / "new.json", "--member", "0002")
    assert status == 0
    assert "metrics" not in value
    assert Path(value["out"]) == run.path / "predictions" / "0002-new.json.json"
    _, labelled, _ = predict(run.path, "--data", small.data / "dev.json", "--member", "0002")
    assert labelled["metrics"].keys() >= {"exact", "f1", "HasAns_f1"}
    assert json.loads(Path(value["out"]).read_text()) == json.loads(Path(labelled["out"]).read_text())
    _, folder, _ = predict(run.path, "--data", small.data, "--member", "0002")
    assert folder["metrics"] == labelled["metrics"]


def test_sources_of_other_names_have_other_files(run: Run) -> None:
    model = open_model(run.path, member="0002")

    def name(*, store: str | None = None, data: str | None = None) -> str:
        return default_out(PredictConfig(place=str(run.path), store=store, data=data), model).name

    assert name() == "0002-own-report.json"
    assert name(store="stores/mrpc-0.3/") == "0002-mrpc-0.3.json"
    assert name(store="s3://bucket/stores/mrpc-0.7") == "0002-mrpc-0.7.json"
    assert name(data="2023/test.tsv") != name(data="2024/test.jsonl")
    assert name(data=".") == f"0002-{Path.cwd().name}.json"


def test_the_same_command_twice_gives_the_same_file(run: Run, predict: Any) -> None:
    _, first, _ = predict(run.path)
    before = Path(first["out"]).read_bytes()
    _, second, _ = predict(run.path)
    assert second == first
    assert Path(first["out"]).read_bytes() == before


def test_a_head_is_tried_on_another_stages_store(
    run: Run, small: Small, tiny_encoder: Path, tmp_path: Path, predict: Any
) -> None:
    stage = make_stage("squad2-span", tiny_encoder, small.data, tmp_path / "stages", 0.3)
    make_store(small.store.task, stage, small.data, tmp_path / "other", tokens="all")
    status, value, _ = predict(run.trial_folder("0002"), "--store", tmp_path / "other")
    assert status == 0
    assert value["predictions"] == 80
    assert 0 <= value["score"] <= 1


def test_other_forms_are_chosen_by_the_ending(run: Run, tmp_path: Path, predict: Any) -> None:
    for name, first in (("a.jsonl", '{"id": "'), ("a.tsv", "index\tprediction\n"), ("a.json", '{\n "')):
        assert predict(run.path, "--out", tmp_path / name)[0] == 0
        assert (tmp_path / name).read_text().startswith(first)


def test_a_saved_model_answers_too(run: Run, small: Small, tmp_path: Path, predict: Any) -> None:
    saved = open_model(run.path).save_pretrained(tmp_path / "model")
    status, value, _ = predict(saved, "--data", small.data / "dev.json", "--out", tmp_path / "out.json")
    assert (status, value["predictions"]) == (0, 80)


def test_bad_requests_are_one_line_before_any_work(
    run: Run, small: Small, tiny_encoder: Path, tmp_path: Path, predict: Any
) -> None:
    (tmp_path / "taken.json").write_text("mine")
    (tmp_path / "empty.json").write_text("")
    for arguments, complaint in (
        ((tmp_path / "none",), "does not exist; expected a run, a head or a saved model"),
        (("x" * 300,), "name too long for a disk"),
        ((run.path, "--out", "x" * 300 + ".json"), "name too long for a disk"),
        ((small.data,), "is neither a run nor a head"),
        ((run.path, "--member", "bset"), "no member named 'bset'; expected one of 0001, 0002, 0003, best"),
        ((run.path, "--member", "ensemble"), "has no ensemble; bv-search ensemble"),
        (
            (run.path, "--out", tmp_path / "taken.json"),
            "already exists; choose another --out",
        ),
        ((run.path, "--out", tmp_path / "answers.csv"), "has an unknown ending; expected one of .json"),
        ((run.path, "--store", small.data), "is not a store"),
        ((run.path, "--data", tmp_path / "none.json"), "does not exist"),
        ((run.path, "--data", tmp_path / "empty.json"), "empty.json"),
        ((run.path, "--data", small.data, "--store", small.store.path), "both --store and --data are given"),
        ((run.path, "--data", small.data, "--encoder", tiny_encoder), "is not the encoder that the"),
        ((run.path, "--encoder", small.stage), "--encoder would do nothing; expected rows in --data"),
        ((run.path, "--device", "cpu"), "--device would do nothing; expected rows in --data"),
        ((run.path, "--store", small.store.path, "--device", "cpu"), "--device would do nothing"),
        ((), "the following arguments are required"),
    ):
        status, _, err = predict(*arguments)
        assert (status, err.count("\n")) == (2, 1), err
        assert complaint in err
    assert (tmp_path / "taken.json").read_text() == "mine"
    assert predict(run.path, "--out", tmp_path / "taken.json", "--overwrite")[0] == 0


def test_places_that_were_typed_as_relative_are_found_from_elsewhere(
    run: Run, small: Small, tmp_path: Path, predict: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(small.store.path, tmp_path / "stores" / "moved")
    run.change_study(store="stores/moved")
    for folder in (tmp_path, run.path, Path("/")):
        monkeypatch.chdir(folder)
        assert predict(run.path)[0] == 0


def test_a_run_whose_store_is_gone_still_answers_new_rows(run: Run, small: Small, predict: Any) -> None:
    run.change_study(store="stores/gone")
    status, _, err = predict(run.path)
    assert (status, err.count("\n")) == (2, 1)
    assert "the run's store is not there" in err
    assert predict(run.path, "--data", small.data / "dev.json")[0] == 0


def test_a_store_that_keeps_nothing_is_answered_by_way_of_its_encoder(
    run: Run, small: Small, tmp_path: Path, predict: Any
) -> None:
    out = tmp_path / "bare"
    config = ExtractConfig(
        task="squad2-span",
        encoder=str(small.stage),
        data=str(small.data),
        out=str(out),
        format="none",
        workers=0,
        precision="float32",
    )
    extract(config, Progress(quiet=True))
    head = run.trial_folder("0002")
    _, stored, _ = predict(head, "--store", small.store.path, "--out", tmp_path / "stored.json")
    status, live, err = predict(head, "--store", out, "--out", tmp_path / "live.json")
    assert status == 0, err
    assert live["predictions"] == stored["predictions"]
    assert live["score"] == pytest.approx(stored["score"], abs=0.02)
    moved = shutil.copytree(small.stage, tmp_path / "moved")
    assert predict(head, "--store", out, "--encoder", moved, "--out", tmp_path / "moved.json")[0] == 0
    status, _, err = predict(head, "--store", out, "--encoder", small.run.path, "--out", tmp_path / "no.json")
    assert (status, err.count("\n")) == (2, 1)
