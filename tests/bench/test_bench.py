"""Benchmarks run, take turns, and say what they compare."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from bv_search.bench.__main__ import COMMAND
from bv_search.bench.arms import Measured, ratio, take_turns
from bv_search.bench.config import BenchConfig
from bv_search.bench.extract import prepare
from bv_search.bench.hdf5 import shuffled_batches, write_padded
from bv_search.bench.linear import fit_linear
from bv_search.bench.loop import train_loop
from bv_search.bench.plain import PlainConfig, PlainHead
from bv_search.bench.standard import StandardBatches
from bv_search.command import Progress, main
from bv_search.heads.config import AdapterHead, HeadShape, LinearHead, MlpHead, PoolingHead
from bv_search.heads.head import count_parameters
from bv_search.source.fill import encode_batches
from bv_search.tasks.row import Role
from tests.stores import make_class_store, make_span_store


def test_arms_take_turns_and_the_warm_round_does_not_count() -> None:
    turns: list[str] = []

    def arm(name: str) -> float:
        turns.append(name)
        return 10.0

    arms = {"a": lambda: arm("a"), "b": lambda: arm("b")}
    measured = take_turns(arms, unit="tokens", rounds=2, progress=Progress(quiet=True))
    assert turns == ["a", "b"] * 3
    assert len(measured["a"].rounds) == 2
    assert measured["a"].to_json()["tokens"] == 10


def test_a_ratio_is_taken_within_rounds() -> None:
    measured = {
        "fast": Measured(unit="bytes", rounds=(20.0, 2.0, 200.0), amount=1.0),
        "slow": Measured(unit="bytes", rounds=(10.0, 1.0, 50.0), amount=1.0),
    }
    assert ratio(measured, "fast", "slow") == 2.0


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


def test_extraction_is_compared_with_a_bare_forward_loop(
    tiny_encoder: Path, generated_data: Path, tmp_path: Path
) -> None:
    """In a process of its own: in one that has done more, memory of earlier work is given back meanwhile."""
    options = ["--encoder", str(tiny_encoder), "--data", str(generated_data), "--windows", "64"]
    command = [sys.executable, "-m", "bv_search.bench", "extract", *options, "--rounds", "1", "--json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    said = json.loads(done.stdout)
    assert set(said) == {"arms", "ratios"}
    assert {"extract / bare", "extract / bare padded to maximum"} <= set(said["ratios"])
    assert all(arm["tokens_per_second"] > 0 for arm in said["arms"].values())
    assert said["arms"]["extract"]["peak_bytes_above_encoder"] > 0
    assert list(tmp_path.iterdir()) == []


def test_the_bare_loop_runs_the_batches_of_extraction(tiny_encoder: Path, generated_data: Path) -> None:
    asked = BenchConfig(
        benchmark="extract",
        encoder=str(tiny_encoder),
        data=str(generated_data),
        windows=150,
        batch_tokens=256,
    )
    work = prepare(asked)
    expected = []
    for plan in work.plans:
        windows = work.windows.slice(plan.first, plan.windows)
        for batch, _ in encode_batches(work.encoder, windows, 256, work.precision):
            expected.append((plan.first + batch).tolist())
    assert [batch.tolist() for batch in work.batches()] == expected
    assert sorted(window for batch in expected for window in batch) == list(range(len(work.ids)))


def test_reading_is_compared_with_pread_and_hdf5(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("h5py")
    monkeypatch.chdir(tmp_path)
    assert main(COMMAND, ["store", "--amount", "48MiB", "--rounds", "3", "--json", "--quiet"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["ratios"]["scan / HDF5 in random batches"] > 0
    assert said["ratios"]["time of one layer / time of all"] > 0
    assert list(tmp_path.iterdir()) == []


def test_packs_are_compared_with_heads_one_after_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("h5py")
    store = make_span_store(tmp_path / "store", windows=64)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    options = ["--store", store.path, "--heads", "2", "--windows", "32", "--rounds", "1"]
    assert main(COMMAND, ["scan", *options, "--json", "--quiet"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert all(arm.get("head-windows_per_second", 1) > 0 for arm in said["arms"].values())
    assert said["ratios"]["adapters: pack / adapters: source work's way"] > 0
    assert list((tmp_path / "here").iterdir()) == []


def test_packs_are_compared_with_a_plain_loop_where_windows_are_one_token(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = make_class_store(tmp_path / "store")
    assert (
        main(COMMAND, ["scan", "--store", store.path, "--heads", "2", "--rounds", "1", "--json", "--quiet"])
        == 0
    )
    said = json.loads(capsys.readouterr().out)
    arms = {name: arm for name, arm in said["arms"].items() if not name.startswith("roof")}
    assert all(arm["head-passes_per_second"] > 0 for arm in arms.values())
    assert said["ratios"]["classification: pack / plain PyTorch loop"] > 0
    assert said["ratios"]["poolings and linear: pack / plain PyTorch loop"] > 0


def test_the_usual_file_gives_every_window_once_padded(tmp_path: Path) -> None:
    pytest.importorskip("h5py")
    windows = [np.full((2, 1 + n % 5, 3), n + 1, np.float32) for n in range(40)]
    write_padded(tmp_path / "x.h5", windows, (40, 2, 6, 3))
    met = []
    for rows, values_NLSH in shuffled_batches(tmp_path / "x.h5"):
        met += rows.tolist()
        for row, values_LSH in zip(rows, values_NLSH, strict=True):
            length = windows[row].shape[1]
            np.testing.assert_array_equal(values_LSH[:, :length], windows[row])
            assert not values_LSH[:, length:].any()
    assert sorted(met) == list(range(40)) != met


def test_what_is_missing_is_one_clear_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(COMMAND, ["extract"]) == 2
    assert "bench extract needs an encoder" in capsys.readouterr().err
    assert main(COMMAND, ["tea"]) == 2


def test_a_store_of_another_task_is_not_scanned(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = make_class_store(tmp_path / "store", tokens=12)
    assert main(COMMAND, ["scan", "--store", store.path]) == 2
    assert (
        "expected hidden states of a span task, or of one token a window; found mrpc"
        in capsys.readouterr().err
    )


@pytest.mark.parametrize(
    "config",
    [
        LinearHead(),
        LinearHead(channels=1),
        MlpHead(size=3),
        PoolingHead(pooling="average"),
        AdapterHead(size=3, skip=True),
        AdapterHead(size=3, shared=False),
    ],
)
def test_heads_in_plain_pytorch_are_the_same_heads(config: PlainConfig) -> None:
    shape = HeadShape(layers=4, width=8, outputs=2, per_token=True)
    plain = PlainHead(config, shape)
    used = sum(parameter.numel() for name, parameter in plain.named_parameters() if name != "mix_L")
    assert used == count_parameters(config, shape)
    assert plain(torch.zeros(4, 5, 8)).shape == (5, 2)


@pytest.mark.slow
def test_whole_searches_are_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    store = make_span_store(tmp_path / "store", windows=64)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    options = ["--store", store.path, "--heads", "2", "--rounds", "1"]
    assert main(COMMAND, ["tune", *options, "--json", "--quiet"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["ratios"]["pack 2 / pack 1"] > 0
    assert all(arm["heads"] == 2 and arm["peak_bytes"] > 0 for arm in said["arms"].values())
    assert list((tmp_path / "here").iterdir()) == []


def test_a_search_is_compared_with_the_simplest_things(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    store = make_class_store(tmp_path / "store", windows=64)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert main(COMMAND, ["probe", "--store", store.path, "--trials", "2", "--json", "--quiet"]) == 0
    said = json.loads(capsys.readouterr().out)
    arms, ours = said["arms"], said["arms"]["tune"]
    assert set(arms) - {"its ensemble"} == {"encoder", "scikit-learn", "PyTorch loop", "tune"}
    assert all(0 <= arm["score"] <= 1 for arm in said["arms"].values())
    assert [name for name, arm in arms.items() if arm.get("seconds")] == [
        "scikit-learn",
        "PyTorch loop",
        "tune",
    ]
    for name in ("scikit-learn", "PyTorch loop"):
        ahead = ours["over"][name]
        assert ahead["difference"] == pytest.approx(ours["score"] - arms[name]["score"])
        assert ahead["interval"][0] <= ahead["difference"] <= ahead["interval"][1]
        assert said["ratios"][f"seconds: tune / {name}"] > 1  # Ray alone takes longer
    assert list((tmp_path / "here").iterdir()) == []


def test_scikit_learn_finds_the_layer_that_knows(tmp_path: Path) -> None:
    for tokens in (1, 6):
        finding = fit_linear(make_class_store(tmp_path / f"store-{tokens}", tokens=tokens), threads=1)
        assert "layer 1" in finding.what
        assert finding.report.score > 0.9


@pytest.mark.parametrize("tokens", [1, 6])
def test_the_plain_loop_learns(tmp_path: Path, tokens: int) -> None:
    finding = train_loop(make_class_store(tmp_path / "store", tokens=tokens))
    assert finding.report.score > 0.8


def test_the_plain_loop_learns_spans(tmp_path: Path) -> None:
    finding = train_loop(make_span_store(tmp_path / "store", windows=400))
    assert finding.report.score > 0.3


def test_batches_are_standardised_by_the_train_split(tmp_path: Path) -> None:
    store = make_span_store(tmp_path / "store")
    data = StandardBatches(store, 16)
    batches = list(data.read(Role.TRAIN, seed=3))
    hidden_LTH = torch.cat([hidden_LTH for hidden_LTH, *_ in batches], dim=1)
    assert hidden_LTH.shape[1] == store.split("train").entry.tokens
    assert hidden_LTH.mean(dim=1).abs().max() < 1e-4
    assert (hidden_LTH.std(dim=1) - 1).abs().max() < 1e-2
    assert {len(lengths_N) for _, lengths_N, _ in batches} <= {16, 8}
