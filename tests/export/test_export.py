import shutil
from dataclasses import replace
from pathlib import Path

import pytest

import bv_search as bv
from bv_search.command import Progress, main
from bv_search.ensemble.config import EnsembleConfig
from bv_search.ensemble.ensemble import run as decide
from bv_search.errors import EncoderError, HeadError, OutputError, UnknownName, UserError
from bv_search.export.__main__ import COMMAND
from bv_search.export.config import ExportConfig
from bv_search.export.export import run as export
from bv_search.model.loading import model_of_run, open_model
from bv_search.model.model import Model
from bv_search.run import Run
from bv_search.tasks.dataset import load_dataset
from tests.export.conftest import python_on
from tests.model.small_run import Small

QUIET = Progress(quiet=True)
ROWS = [("Who wrote the report?", "The report was written by Ada.")]


def test_what_was_exported_answers_as_the_run(small: Small, exported: Path) -> None:
    rows = load_dataset(small.store.task, str(small.data)).split("dev").rows[:12]
    texts = [(row.text_a, row.text_b or "") for row in rows]
    expected = model_of_run(small.run, "best").predict(texts)
    assert bv.Model.from_pretrained(exported).predict(texts) == expected
    assert open_model(exported).encoder.place == str(exported / "encoder")
    assert bv.Head.from_pretrained(exported).config == model_of_run(small.run, "best").heads[0].config
    assert str(small.store.path) not in (exported / "model.json").read_text()


def test_an_encoder_that_is_only_named_is_looked_for(
    small: Small, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    moved = shutil.copytree(small.stage, tmp_path / "moved")
    config = ExportConfig(run=str(small.run.path), to=str(tmp_path / "made"), bundle=False)
    folder = export(replace(config, encoder=str(moved)), QUIET).folder
    assert not (folder / "encoder").exists()
    expected = model_of_run(small.run, "best").predict(ROWS)
    assert Model.from_pretrained(folder).predict(ROWS) == expected
    example = python_on(folder / "README.md").replace("ENCODER", str(moved)).replace("FOLDER", str(folder))
    exec(compile(example, "card", "exec"), {})
    shutil.rmtree(moved)
    with pytest.raises(EncoderError, match=r"the encoder is not there; .* say where it is with --encoder"):
        Model.from_pretrained(folder).predict(ROWS)


def test_an_ensemble_is_exported_whole(run: Run, tmp_path: Path) -> None:
    decide(EnsembleConfig(runs=(str(run.path),), mlflow=False), QUIET)
    model = model_of_run(run, "ensemble")
    folder = bv.export(run, tmp_path / "made", member="ensemble", progress=False).folder
    again = Model.from_pretrained(folder)
    assert [member.name for member in again.members] == [member.name for member in model.members]
    assert again.predict(ROWS) == model.predict(ROWS)


@pytest.mark.parametrize("name", ["tokenizer.json", "stage.json", "config.json"])
def test_a_damaged_encoder_is_found_by_name(exported: Path, tmp_path: Path, name: str) -> None:
    folder = shutil.copytree(exported, tmp_path / "copy")
    path = folder / "encoder" / name
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(HeadError, match=rf"encoder/{name}: is damaged; expected digest"):
        Model.from_pretrained(folder)
    path.unlink()
    with pytest.raises(HeadError, match=rf"encoder/{name}: is missing"):
        Model.from_pretrained(folder)


def test_damaged_weights_are_found(exported: Path, tmp_path: Path) -> None:
    for name, error in (("model.safetensors", HeadError), ("encoder/model.safetensors", EncoderError)):
        folder = shutil.copytree(exported, tmp_path / name.replace("/", "-"))
        data = bytearray((folder / name).read_bytes())
        data[-1] ^= 1
        (folder / name).write_bytes(data)
        with pytest.raises(error, match="digest"):
            Model.from_pretrained(folder).predict(ROWS)


def test_wrong_wishes_are_refused_and_leave_nothing(small: Small, tmp_path: Path) -> None:
    config = ExportConfig(run=str(small.run.path), to=str(tmp_path / "made"))
    for wish, error, complaint in (
        (replace(config, member="002"), UnknownName, "did you mean '0002'"),
        (replace(config, member="encoder"), UserError, "has no heads to export"),
        (replace(config, encoder=str(small.data)), EncoderError, "is not an encoder"),
        (replace(config, to=str(small.data)), OutputError, "already exists"),
    ):
        with pytest.raises(error, match=complaint):
            export(wish, QUIET)
    assert list(tmp_path.iterdir()) == []


def test_the_command_says_what_was_checked(
    small: Small, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(COMMAND, [str(small.run.path), "--to", str(tmp_path / "made"), "--no-encoder"]) == 0
    said = capsys.readouterr().out
    assert "32 windows of report are answered as by the run's own model, to the bit." in said
