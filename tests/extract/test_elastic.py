"""Extraction on machines that come and go writes the bytes of one process."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from bv_search.command import Progress
from bv_search.extract.config import ExtractConfig
from bv_search.extract.extraction import run
from tests.autoscaling import elastic_cluster
from tests.extract.conftest import contents, write_pairs

NODE = {"CPU": 1.0, "object_store_memory": 80_000_000.0}
SECONDS = 240.0
EXTRACT = """
import json, sys
from bv_search.command import Progress
from bv_search.extract.config import ExtractConfig
from bv_search.extract.extraction import run
from bv_search.store.layout import BlockLimits
run(ExtractConfig(limits=BlockLimits(bytes=1, windows=16), **json.loads(sys.argv[1])), Progress())
"""


@pytest.mark.slow
def test_lost_machines_change_no_byte(
    config: Callable[..., ExtractConfig], stage: Path, tmp_path: Path
) -> None:
    import json

    (tmp_path / "many").mkdir()
    write_pairs(tmp_path / "many", train_rows=1600)
    whole = run(config(data=str(tmp_path / "many"), out=str(tmp_path / "whole")), Progress(quiet=True))
    asked = {
        "task": "mrpc",
        "encoder": str(stage),
        "data": str(tmp_path / "many"),
        "out": str(tmp_path / "store"),
        "workers": 2,
        "threads": 1,
        "precision": "float32",
    }
    done = tmp_path / "store/.extract/done"
    with elastic_cluster(most=2, node=NODE) as cluster:
        extraction = subprocess.Popen(
            [sys.executable, "-c", EXTRACT, json.dumps(asked)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **cluster.environment},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        deadline = time.monotonic() + SECONDS
        while len(list(done.rglob("*.parquet"))) < 5:
            assert extraction.poll() is None, "it ended before"
            assert time.monotonic() < deadline
            time.sleep(0.01)
        cluster.nodes()[0].kill()
        _, said = extraction.communicate(timeout=SECONDS)
        cluster.await_nodes(0)

    assert extraction.returncode == 0, said
    assert whole.blocks > 5
    assert "asking for 2 encoding worker(s) of 1 CPU; the cluster has 1 × 0 CPU" in said
    assert contents(tmp_path / "store") == contents(tmp_path / "whole")
