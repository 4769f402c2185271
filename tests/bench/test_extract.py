"""Extraction beside the encoder alone."""

import json
import subprocess
import sys
from pathlib import Path

from bv_search.bench.config import BenchConfig
from bv_search.bench.extract import prepare
from bv_search.source.fill import encode_batches


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
