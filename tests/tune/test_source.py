"""Searches whose heads are fed by the encoder, from a store with its files and from one without."""

import io
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from bv_search.command import AUTO, Progress
from bv_search.ensemble import ensemble
from bv_search.ensemble.config import EnsembleConfig
from bv_search.errors import EncoderError, StoreError
from bv_search.extract import extraction
from bv_search.extract.config import ExtractConfig
from bv_search.model.loading import open_model
from bv_search.predict import predict
from bv_search.predict.config import PredictConfig
from bv_search.run.folder import Run
from bv_search.scan.ladder import rungs_of
from bv_search.scan.store_view import head_shape
from bv_search.source import LIVE, STORE
from bv_search.source.channels import Channels
from bv_search.source.choice import Rates, choose_source, compare_sources
from bv_search.store.layout import BlockLimits
from bv_search.store.store import Store
from bv_search.tune.config import More, TuneConfig
from bv_search.tune.dry_run import dry_run
from bv_search.tune.search import run as search
from bv_search.tune.summary import to_json
from tests.tune.conftest import finished, ladder

pytestmark = pytest.mark.usefixtures("ray_cluster")

QUIET = Progress(quiet=True)
TABLES = {
    "mrpc": """
space:
  head:
    grid:
      - {kind: pooling}
      - {kind: adapter, size: 4, shared: false}
      - {kind: xception}
  learning_rate: 0.01
  passes: 2
""",
    "squad2-span": """
space:
  head: {grid: [{kind: pooling}, {kind: adapter, size: 4}]}
  learning_rate: 0.01
""",
}


@pytest.fixture(scope="module")
def places(
    stage: Path,
    pairs: Path,
    tiny_encoder: Path,
    generated_data: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> dict[str, Path]:
    """A store of each kind of task, and one that keeps nothing."""
    home = tmp_path_factory.mktemp("stores")
    kinds: dict[str, dict[str, Any]] = {
        "mrpc": {"task": "mrpc", "encoder": str(stage), "data": str(pairs)},
        "squad2-span": {
            "task": "squad2-span",
            "encoder": str(tiny_encoder),
            "data": str(generated_data),
            "layers": (0, 2),
        },
        "none": {
            "task": "mrpc",
            "encoder": str(stage),
            "data": str(pairs),
            "format": "none",
            "precision": "bfloat16",
        },
    }
    for name, kind in kinds.items():
        few = BlockLimits(bytes=1, windows=48)
        config = ExtractConfig(**kind, out=str(home / name), workers=0, threads=1, limits=few)
        extraction.run(config, QUIET)
    return {name: home / name for name in kinds}


def ask(task: str, store: Path, tmp_path: Path, **more: Any) -> TuneConfig:
    table = tmp_path / f"{task}.yaml"
    table.write_text(TABLES[task])
    values: dict[str, Any] = {
        "space": str(table),
        "store": str(store),
        "runs": tmp_path / "runs",
        "scheduler": "none",
    }
    return TuneConfig(**{**values, **more})


def weights(run: Run) -> dict[str, dict[str, torch.Tensor]]:
    return {
        record.id: load_file(run.trial_folder(record.id) / "model.safetensors")
        for record in run.finished_trials()
    }


@pytest.mark.parametrize("task", ["mrpc", pytest.param("squad2-span", marks=pytest.mark.slow)])
def test_a_search_finds_the_same_heads_from_either_source(
    task: str, places: dict[str, Path], tmp_path: Path
) -> None:
    store = Store.open(places[task])
    stored, live = (
        search(ask(task, places[task], tmp_path, name=source, source=source), QUIET)
        for source in (STORE, LIVE)
    )

    assert (Run.open(stored.path).study.source, Run.open(live.path).study.source) == (STORE, LIVE)
    assert to_json(live)["source"] == LIVE
    ours, theirs = weights(live), weights(stored)
    assert ours.keys() == theirs.keys() == {record.id for record in stored.trials()}
    assert {record.id for record in ladder(live)} == {rung.trial for rung in rungs_of(head_shape(store))}
    for trial, tensors in ours.items():
        for name, tensor in tensors.items():
            torch.testing.assert_close(tensor, theirs[trial][name], rtol=1e-6, atol=1e-6)
    assert [record.score for record in live.trials()] == [record.score for record in stored.trials()]


def test_from_a_store_that_keeps_nothing_to_an_answer(places: dict[str, Path], tmp_path: Path) -> None:
    said = io.StringIO()
    config = ask("mrpc", places["none"], tmp_path, name="bare", trials=2)

    run = search(config, Progress(stream=said))
    resumed = search(
        TuneConfig(space="", store="", name="bare", resume=True, runs=config.runs, trials=More(1)), QUIET
    )

    assert "source: live (the store keeps no hidden states)\n" in said.getvalue()
    assert run.study.source == LIVE
    assert len(finished(resumed)) == 3
    combined = ensemble.run(EnsembleConfig(runs=(str(run.path),), mlflow=False), QUIET)
    assert 0.0 <= combined.evaluation.score <= 1.0
    best = resumed.finished_trials()[0]
    assert open_model(run.path).channels == Channels.of(Store.open(places["none"]).manifest)
    answers = predict.run(PredictConfig(place=str(run.path), member=best.id), QUIET).answers
    assert answers.evaluation is not None
    assert answers.evaluation.score == best.report_score


def test_auto_measures_both_and_says_why(places: dict[str, Path], tmp_path: Path) -> None:
    said = io.StringIO()

    asked = ask("squad2-span", places["squad2-span"], tmp_path, name="it", trials=1, finalists=0)
    run = search(asked, Progress(stream=said))

    (line,) = [line for line in said.getvalue().splitlines() if line.startswith("source: ")]
    figures = r"store \(a pass reads 0\.00 GB in \d+\.\d s; the encoder would take \d+\.\d s\)"
    other = r"live \(the encoder takes \d+\.\d s a pass; reading would be 0\.00 GB in \d+\.\d s\)"
    assert re.fullmatch(f"source: ({figures}|{other})", line)
    assert Run.open(run.path).study.source == line.split()[1]


def test_one_token_a_window_is_read_from_the_store(places: dict[str, Path]) -> None:
    choice = choose_source(AUTO, Store.open(places["mrpc"]))
    assert (choice.source, choice.why) == (STORE, "one token a window is read once, and stays in memory")


def test_a_resumed_run_keeps_its_source_unless_told_otherwise(
    places: dict[str, Path], tmp_path: Path
) -> None:
    config = ask("mrpc", places["mrpc"], tmp_path, name="it", trials=1, source=LIVE)
    search(config, QUIET)
    said = io.StringIO()
    more = TuneConfig(space="", store="", name="it", resume=True, runs=config.runs, trials=2)

    kept = search(more, Progress(stream=said))
    changed = search(replace(more, trials=3, source=STORE), QUIET)

    assert "source: " not in said.getvalue()
    assert (kept.study.source, changed.study.source) == (LIVE, STORE)
    assert len(finished(changed)) == 3


def test_a_dry_run_counts_the_tokens_to_encode_where_nothing_can_be_read(
    places: dict[str, Path], tmp_path: Path
) -> None:
    kept, bare = (dry_run(ask("mrpc", places[name], tmp_path), None).cost for name in ("mrpc", "none"))

    train = Store.open(places["none"]).split("train").entry
    assert bare["tokens_to_encode_per_pack"] == 2 * train.encoded_tokens
    assert kept["bytes_to_read_per_pack"] == 2 * train.tokens * 4 * 32 * 2
    assert kept.keys() ^ bare.keys() == {"tokens_to_encode_per_pack", "bytes_to_read_per_pack"}


def test_an_encoder_that_is_gone_or_another_is_told_before_any_work(
    stage: Path, pairs: Path, tiny_encoder: Path, tmp_path: Path
) -> None:
    moved = shutil.copytree(stage, tmp_path / "stage")
    usual: dict[str, Any] = {
        "task": "mrpc",
        "encoder": str(moved),
        "data": str(pairs),
        "tokens": "all",
        "workers": 0,
    }
    kept, bare = tmp_path / "kept", tmp_path / "bare"
    extraction.run(ExtractConfig(**usual, out=str(kept)), QUIET)
    extraction.run(ExtractConfig(**usual, out=str(bare), format="none"), QUIET)

    assert choose_source(AUTO, Store.open(kept)).source == AUTO
    shutil.copy(tiny_encoder / "model.safetensors", moved)
    assert (
        choose_source(AUTO, Store.open(kept)).why
        == f"{moved} is not the encoder that the hidden states are of"
    )
    with pytest.raises(
        EncoderError, match=r"is not the encoder .*; put it back, or read the store: --source"
    ):
        search(ask("mrpc", kept, tmp_path, source=LIVE), QUIET)
    shutil.rmtree(moved)
    assert choose_source(AUTO, Store.open(kept)).why == f"its encoder is not here: {moved}"
    for source in (LIVE, AUTO):
        with pytest.raises(EncoderError, match="the encoder is not there"):
            search(ask("mrpc", bare, tmp_path, source=source), QUIET)
    with pytest.raises(StoreError, match=r"keeps no hidden states.*--source live"):
        search(ask("mrpc", bare, tmp_path, source=STORE), QUIET)
    assert not (tmp_path / "runs").exists()


def test_the_faster_source_is_chosen(places: dict[str, Path]) -> None:
    store = Store.open(places["mrpc"])
    train = store.split("train").entry
    size = train.tokens * store.manifest.token_bytes
    fast_disk = Rates(bytes_per_second=size / 2, tokens_per_second=train.encoded_tokens / 71)
    fast_encoder = Rates(bytes_per_second=size / 30, tokens_per_second=train.encoded_tokens / 4)

    assert str(compare_sources(store, fast_disk)) == (
        "source: store (a pass reads 0.00 GB in 2.0 s; the encoder would take 71.0 s)"
    )
    assert str(compare_sources(store, fast_encoder)) == (
        "source: live (the encoder takes 4.0 s a pass; reading would be 0.00 GB in 30.0 s)"
    )
