"""Heads that ride along with fine-tuning, against fine-tuning, extraction and a search one after the other.

What do heads cost a step? Steps without them, with them, and the heads by themselves on hidden states that
were recorded take turns in this process. What does a user get? Whole commands take turns: their seconds, what
they leave on the disk, and how good the best head is.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import torch

from bv_search.bench.arms import Arm, Measured, take_turns
from bv_search.bench.config import BenchConfig
from bv_search.command import Progress, Result
from bv_search.encoder.checkpoint import load_untrained
from bv_search.encoder.location import locate_encoder
from bv_search.encoder.training import EncoderTraining, Step, TrainingSettings
from bv_search.errors import UserError
from bv_search.files import absolute, absolute_if_there
from bv_search.finetune.crew import Crew
from bv_search.finetune.material import Material
from bv_search.finetune.ride import plan_ride
from bv_search.finetune.riders import Riders
from bv_search.precision import BFLOAT16, choose_precision
from bv_search.tasks.dataset import load_dataset
from bv_search.tasks.registry import find_task
from bv_search.tasks.row import Role

PLAIN, RIDING, HEADS = "fine-tuning", "fine-tuning with heads", "these heads alone"
RIDE, STEPS = "ride along", "fine-tune, extract, tune"
SPACE = "adapters"
STEP_ROUNDS = 3  # at least: steps are short, whole commands are not


@dataclass(frozen=True, kw_only=True)
class Outlay:
    """What came of one way to get a head."""

    seconds: Mapping[str, float]  # by command
    bytes: int  # on the disk
    best: Mapping[str, Any]  # the best head by select

    def to_json(self) -> dict[str, Any]:
        seconds = {name: round(spent, 1) for name, spent in self.seconds.items()}
        return {"seconds": seconds, "bytes": self.bytes, "best": dict(self.best)}

    def __str__(self) -> str:
        parts = ", ".join(f"{name} {spent:.0f}" for name, spent in self.seconds.items())
        score, (low, high) = self.best["score"], self.best["interval"]
        return (
            f"{sum(self.seconds.values()):7.0f} s ({parts}), {self.bytes / 1e6:8,.1f} MB; "
            f"report {score:.4f} [{low:.4f}, {high:.4f}], select {self.best['select_score']:.4f}"
        )


def run(asked: BenchConfig, progress: Progress) -> Result:
    steps = measure_steps(asked, progress)
    ways = measure_ways(asked, progress)
    about = f"{asked.task}, {asked.heads} heads of {asked.space or SPACE}, {asked.threads} threads"
    lines = [about, *(f"  {name:24} {seconds * 1000:8.0f} ms a step" for name, seconds in steps.items())]
    share = (steps[RIDING] - steps[PLAIN]) / steps[HEADS]
    lines.append(f"  heads lengthen a step by {share:.2f} of what they take alone")
    for name, rounds in ways.items():
        lines += [f"  {name:24} {way}" for way in rounds]
    said = {
        "step_seconds": steps,
        "lengthened": round(share, 4),
        "ways": {name: [way.to_json() for way in rounds] for name, rounds in ways.items()},
    }
    return Result(text="\n".join(lines), json=said)


def measure_steps(asked: BenchConfig, progress: Progress) -> dict[str, float]:
    """Seconds of a step, the median of all rounds."""
    torch.set_num_threads(asked.threads)
    material = _material(asked)
    windows = material.windows[Role.TRAIN]
    device = material.checkpoint.model.device
    precision = choose_precision(asked.precision, device, among=(BFLOAT16,)).precision
    ride = plan_ride(asked.space or SPACE, trials=asked.heads, seed=0)
    crew = Crew.of(ride, material, precision)
    settings = TrainingSettings(precision=precision)

    def steps(*, with_states: bool) -> Sequence[Step]:
        training = EncoderTraining(material.checkpoint.model, material.task, windows, settings)
        return list(training.steps([1.0], with_states=with_states))

    recorded = steps(with_states=True)

    def ride_along() -> float:
        training = EncoderTraining(material.checkpoint.model, material.task, windows, settings)
        with crew.riders() as riders:
            return _count(riders, training.steps([1.0], with_states=True))

    def heads_alone() -> float:
        with crew.riders() as riders:
            return _count(riders, recorded)

    arms: dict[str, Arm] = {
        PLAIN: lambda: float(len(steps(with_states=False))),
        RIDING: ride_along,
        HEADS: heads_alone,
    }
    found = take_turns(arms, unit="steps", rounds=max(asked.rounds, STEP_ROUNDS), progress=progress)
    return {name: _seconds(measured) for name, measured in found.items()}


def measure_ways(asked: BenchConfig, progress: Progress) -> dict[str, list[Outlay]]:
    ways = {RIDE: partial(_ride, asked), STEPS: partial(_steps, asked)}
    found: dict[str, list[Outlay]] = {name: [] for name in ways}
    for number in range(asked.rounds):
        for name, way in ways.items():
            progress.update(f"round {number + 1} of {asked.rounds}: {name}")
            with tempfile.TemporaryDirectory(prefix="bv-bench-", dir=Path.cwd()) as folder:
                found[name].append(way(Path(folder)))
    return found


def _material(asked: BenchConfig) -> Material:
    """So many rows of the training set."""
    task = find_task(asked.task)
    checkpoint = load_untrained(locate_encoder(asked.required_encoder), task, seed=0)
    dataset = load_dataset(task, asked.data)
    splits = [replace(split, rows=split.rows[: asked.windows]) for split in dataset.splits]
    return Material(checkpoint=checkpoint, task=task, dataset=replace(dataset, splits=tuple(splits)))


def _count(riders: Riders, steps: Iterable[Step]) -> float:
    done = 0.0
    for step in steps:
        riders.learn(step)
        done += 1.0
    return done


def _seconds(measured: Measured) -> float:
    return float(f"{median(1 / rate for rate in measured.rounds):.5g}")


def _ride(asked: BenchConfig, folder: Path) -> Outlay:
    begun = time.perf_counter()
    riding = ("--heads", asked.space or SPACE, "--trials", str(asked.heads))
    said = _call("finetune", (*_finetuning(asked), *riding), folder)
    seconds = time.perf_counter() - begun
    return Outlay(
        seconds={"finetune": seconds}, bytes=_bytes(folder), best=said["stages"][-1]["heads"]["best"]
    )


def _steps(asked: BenchConfig, folder: Path) -> Outlay:
    """As many heads of the same space, searched as `tune` does by default."""
    stage = f"stages/{asked.fraction:.10g}"
    data = () if asked.data is None else ("--data", absolute(asked.data))
    store = ("--task", asked.task, "--encoder", stage, *data, "--out", "store")
    search = (
        "--store",
        "store",
        "--space",
        asked.space or SPACE,
        "--trials",
        str(asked.heads),
        "--name",
        "bench",
    )
    seconds, said = {}, {}
    for verb, options in (("finetune", _finetuning(asked)), ("extract", store), ("tune", search)):
        begun = time.perf_counter()
        said = _call(verb, options, folder)
        seconds[verb] = time.perf_counter() - begun
    return Outlay(seconds=seconds, bytes=_bytes(folder), best=said["best"])


def _finetuning(asked: BenchConfig) -> tuple[str, ...]:
    data = () if asked.data is None else ("--data", absolute(asked.data))
    encoder = absolute_if_there(asked.required_encoder)
    fraction = f"{asked.fraction:.10g}"
    return ("--task", asked.task, "--encoder", encoder, *data, "--fractions", fraction, "--out", "stages")


def _call(verb: str, options: Sequence[str], folder: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", f"bv_search.{verb}", *options, "--json", "--quiet"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        raise UserError("a command failed", where=" ".join(command), found=done.stderr.strip())
    said: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return said


def _bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
