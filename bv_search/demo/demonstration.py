"""The real commands, one after the other, on the project's own data; what they found; what to do next."""

import shutil
import sys
import time
from dataclasses import replace
from pathlib import Path

from bv_search.cluster import ray_session
from bv_search.command import Progress, Result
from bv_search.demo.cache import TASK, DemoCache, DemoSettings, provide
from bv_search.model.standings import standings_text
from bv_search.report import report
from bv_search.report.config import ReportConfig
from bv_search.report.facts import Facts
from bv_search.report.report import Report
from bv_search.run.folder import Run
from bv_search.run.leaderboard import leaderboard_text
from bv_search.run.mlflow import open_mirror
from bv_search.tune import search, summary
from bv_search.tune.config import TuneConfig

DEFAULT_TRIALS = 24  # what fits into a minute on two cores


def run(config: TuneConfig, progress: Progress, settings: DemoSettings | None = None) -> Result:
    """Everything from text to a report. Scores are what was measured, whatever that is."""
    began = time.monotonic()
    with ray_session():
        made = provide(settings or DemoSettings(), progress)
        progress.say(f"5 of 6, tune: heads on these hidden states, space {config.begun_space}")
        found = search.run(_on(made, config), progress)
    progress.say("6 of 6, report")
    written = report.run(ReportConfig(runs=(str(found.path),), data=str(made.data)), progress).reports[0]
    seconds = time.monotonic() - began
    return Result(
        text=describe(found, made, written, config, seconds),
        json={
            **summary.to_json(found, written.facts.compared),
            "ensemble": found.ensemble(),
            "report": str(written.html),
            "demonstration": {"folder": str(made.folder), "seconds": seconds},
        },
    )


def _on(made: DemoCache, config: TuneConfig) -> TuneConfig:
    return replace(config, store=str(made.store), trials=config.trials or DEFAULT_TRIALS)


def describe(found: Run, made: DemoCache, written: Report, config: TuneConfig, seconds: float) -> str:
    parts = [
        leaderboard_text(found.trials(), found.study.baseline),
        comparison(written.facts, made),
        next_steps(found, made, written, config),
        f"all of this took {seconds:.0f} s",
    ]
    return "\n\n".join(parts)


def comparison(facts: Facts, made: DemoCache) -> str:
    """The ladder and what stands on it, and what the encoder comes to when it is trained on."""
    first, whole = made.stage.stage, made.whole.stage
    assert whole.interval is not None, "a stage after training has predictions"
    lines = [standings_text(facts.compared, facts.task.metric)]
    epochs = f"{whole.fraction:g} epoch{'' if whole.fraction == 1 else 's'}"
    lines.append(
        f"All of them read the encoder as it is after {first.fraction:g} epochs; after {epochs} it scores "
        f"{whole.metrics['report']['score']:.4f} [{whole.interval[0]:.4f}, {whole.interval[1]:.4f}]."
    )
    return "\n".join(lines)


def next_steps(found: Run, made: DemoCache, written: Report, config: TuneConfig) -> str:
    ours = _typed("bv-search")
    own, demo = "--task TASK --data FOLDER", f"--task {TASK} --data {made.data}"
    return "\n".join(
        [
            "next",
            f"  read the report       {written.html}",
            f"  look at every trial   {_look(found)}",
            f"  search on             {ours} tune --resume {found.path} --trials +24",
            f"  a learning curve      {ours} finetune {demo} --encoder {made.encoder} "
            "--learning-rate 2e-3 --fractions 0.2,0.5,2 --out stages/demo",
            f"  on your own data      {ours} finetune {own} --encoder bert-base-uncased "
            "--fractions 0.3 --out stages/mine",
            f"                        {ours} extract {own} --encoder stages/mine/0.3 --out stores/mine",
            f"                        {ours} tune --space {config.begun_space} --store stores/mine",
        ]
    )


def _look(found: Run) -> str:
    troubles: list[str] = []
    mirror = open_mirror(found, troubles.append)
    if mirror is None:
        return troubles[-1]
    return f"{mirror.ui_command.replace('mlflow ', _typed('mlflow') + ' ', 1)}, then {mirror.ui_page}"


def _typed(name: str) -> str:
    """How to call a command of this environment, which need not be activated."""
    if shutil.which(name):
        return name
    place = Path(sys.executable).with_name(name)
    return str(place.relative_to(Path.cwd()) if place.is_relative_to(Path.cwd()) else place)
