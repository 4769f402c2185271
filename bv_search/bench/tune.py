"""The whole command as a user runs it: `tune` with packs, and with one head at a time, start-up included."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from bv_search.bench.arms import ratio, render, take_turns
from bv_search.bench.config import BenchConfig
from bv_search.command import Progress, Result
from bv_search.errors import UserError
from bv_search.files import absolute

SEARCH = (
    "--space",
    "adapters",
    "--searcher",
    "random",
    "--scheduler",
    "none",
    "--folds",
    "1",
    "--finalists",
    "0",
)
FIXED = (*SEARCH, "--source", "store")


def run(asked: BenchConfig, progress: Progress) -> Result:
    peaks: dict[str, int] = {}

    def search(pack: int) -> float:
        options = (*FIXED, "--trials", str(asked.heads), "--pack", str(pack))
        with tempfile.TemporaryDirectory(prefix="bv-bench-", dir=Path.cwd()) as folder:
            said = tune(asked.required_store, options, Path(folder))
        name = f"pack {pack}"
        peaks[name] = max(peaks.get(name, 0), said["memory"]["peak_scan_worker"])
        return float(said["trials"])

    arms = {f"pack {pack}": partial(search, pack) for pack in (asked.heads, 1)}
    measured = take_turns(arms, unit="heads", rounds=asked.rounds, progress=progress, warm=False)
    ratios = {f"pack {asked.heads} / pack 1": ratio(measured, f"pack {asked.heads}", "pack 1")}
    said: dict[str, Any] = {
        name: {**each.to_json(), "peak_bytes": peaks[name]} for name, each in measured.items()
    }
    text = (
        f"{asked.heads} trials on {asked.required_store}; memory of the scan worker\n{render(said, ratios)}"
    )
    return Result(text=text, json={"arms": said, "ratios": ratios})


def tune(store: str, options: Sequence[str], folder: Path) -> dict[str, Any]:
    """What the command says at its end; it leaves its run in the folder."""
    options = ("--store", absolute(store), *options, "--name", "bench", "--json", "--quiet")
    command = [sys.executable, "-m", "bv_search.tune", *options]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise UserError("the search failed", where=" ".join(command), found=done.stderr.strip())
    said: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return said
