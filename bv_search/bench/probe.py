"""Is a search better than the simplest things that could work, and what does it cost beside them?

`scikit-learn` is a linear model on each channel, on their mean and on all of them; spans have none.
`PyTorch loop` trains one adapter until the loss on select no longer falls. Both read the first token of
each window, the loop all of spans, and have --threads threads: on a shared machine scikit-learn took fifty
times as long with two as with one. `tune` is the whole command with its defaults: its best head, and the
ensemble that it ends with. Each chooses on select; on report they are compared row by row.
"""

import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import torch

from bv_search.bench.arms import Measured, ratio, take_turns
from bv_search.bench.config import BenchConfig
from bv_search.bench.finding import Finding, find
from bv_search.bench.linear import fit_linear
from bv_search.bench.loop import train_loop
from bv_search.bench.tune import tune
from bv_search.command import Progress, Result
from bv_search.heads.config import head_from_json
from bv_search.model.standings import ENSEMBLE, compare
from bv_search.run.folder import Run
from bv_search.run.predictions import predictions_file, read_predictions
from bv_search.run.roles import encoder_logits, role_ids
from bv_search.store.store import Store
from bv_search.tasks.evaluation import Delta, difference
from bv_search.tasks.row import Role

LINEAR, LOOP, TUNE, ENCODER = "scikit-learn", "PyTorch loop", "tune", "encoder"
COMBINED = "its ensemble"
OURS = (TUNE, COMBINED)


def run(asked: BenchConfig, progress: Progress) -> Result:
    store = Store.open(asked.required_store)
    torch.set_num_threads(asked.threads)
    findings: dict[str, Finding] = {}

    def work(find_some: Callable[[], Mapping[str, Finding]]) -> float:
        findings.update(find_some())
        return 1.0

    arms = {name: partial(work, find_some) for name, find_some in _contenders(store, asked).items()}
    measured = take_turns(arms, unit="answers", rounds=asked.rounds, progress=progress, warm=False)
    ratios = {f"seconds: {TUNE} / {name}": ratio(measured, name, TUNE) for name in arms if name != TUNE}
    if (encoder := _encoder(store)) is not None:
        findings[ENCODER] = encoder
    others = {name: each for name, each in findings.items() if name not in OURS}
    deltas = {
        ours: {name: difference(findings[ours].report, each.report) for name, each in others.items()}
        for ours in OURS
        if ours in findings
    }
    said = {name: _to_json(each, measured.get(name), deltas.get(name, {})) for name, each in findings.items()}
    lines = [f"{store.task.name}, {asked.trials} trials", *map(_line, said, said.values())]
    lines += [
        f"  {ours} is {_verdict(name, delta)}"
        for ours, each in deltas.items()
        for name, delta in each.items()
    ]
    lines += [f"  {name:40} {value:>8.2f}×" for name, value in ratios.items()]
    return Result(text="\n".join(lines), json={"arms": said, "ratios": ratios})


def _contenders(store: Store, asked: BenchConfig) -> dict[str, Callable[[], Mapping[str, Finding]]]:
    """Each with a store that has checked nothing yet, as whoever begins anew."""
    linear = {LINEAR: lambda: {LINEAR: fit_linear(Store.open(store.path), threads=asked.threads)}}
    return {
        **({} if store.task.per_token else linear),
        LOOP: lambda: {LOOP: train_loop(Store.open(store.path))},
        TUNE: lambda: search(store, asked.trials),
    }


def search(store: Store, trials: int) -> dict[str, Finding]:
    """The best trial of a whole search, by the predictions that it left, and its ensemble if it has one."""
    with tempfile.TemporaryDirectory(prefix="bv-bench-", dir=Path.cwd()) as folder:
        said = tune(store.path, ("--space", space_of(store), "--trials", str(trials)), Path(folder))
        best, run = said["best"], Run.open(Path(folder) / said["run"])
        place = run.trial_folder(best["trial"])
        logits = {
            role: read_predictions(place / predictions_file(role), ids=role_ids(store, role)).logits
            for role in (Role.SELECT, Role.REPORT)
        }
        together = compare(run, store).of(ENSEMBLE)
    head = head_from_json(best["config"]["head"])
    what = f"{head.name}; {said['seconds']['start']:.1f} s of it start-up"
    more = {"trial": best["trial"], "config": best["config"], "spent": said["seconds"]}
    found = {TUNE: find(store, what, logits, **more)}
    if together is not None and together.select_score is not None:
        found[COMBINED] = Finding(
            what=together.name, select=together.select_score, report=together.evaluation
        )
    return found


def space_of(store: Store) -> str:
    if store.task.per_token:
        return "adapters"
    return "classification" if store.manifest.one_token else "classification-tokens"


def _encoder(store: Store) -> Finding | None:
    """What the encoder itself says, where it was fine-tuned."""
    select, report = encoder_logits(store, Role.SELECT), encoder_logits(store, Role.REPORT)
    if select is None or report is None:
        return None
    return find(store, "its own predictions", {Role.SELECT: select, Role.REPORT: report})


def _to_json(finding: Finding, measured: Measured | None, deltas: Mapping[str, Delta]) -> dict[str, Any]:
    said = finding.to_json()
    if measured is not None:
        said["seconds"] = round(1 / measured.rate, 2)
        said["rounds"] = [round(1 / rate, 2) for rate in measured.rounds]
    if deltas:
        said["over"] = {name: delta.to_json() for name, delta in deltas.items()}
    return said


def _line(name: str, said: Mapping[str, Any]) -> str:
    scores = f"{said['score']:.4f} on report, {said['select_score']:.4f} on select"
    seconds = f"{said['seconds']:8.1f} s" if "seconds" in said else " " * 10
    return f"  {name:14} {scores} {seconds}  {said['what']}"


def _verdict(name: str, delta: Delta) -> str:
    interval = f"95 % interval {delta.low:+.4f} to {delta.high:+.4f}"
    return f"{delta.beside(name)} ({delta.value:+.4f}, {interval})"
