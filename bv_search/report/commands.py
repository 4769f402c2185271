"""The commands that make a run again, as far as folder, store and stage say how they were made."""

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bv_search.encoder.stage import Stage
from bv_search.model.combine import Method
from bv_search.report.facts import Facts
from bv_search.run.folder import REPORT_HTML, STUDY
from bv_search.run.study import SCORE, Study
from bv_search.source.reference import hub_name
from bv_search.tasks.registry import TASKS

AGAIN = "-again"  # a run that is there is not made anew
DATA, TASK = "DATA", "TASK.yaml"  # places that no file says
TOLD = "told"  # an event: what a search was told of an earlier run


@dataclass(frozen=True, kw_only=True)
class Commands:
    lines: tuple[str, ...]
    notes: tuple[str, ...]  # what they cannot say


def commands_of(facts: Facts, stage: Stage | None, data: str | None) -> Commands:
    task = facts.task.name if facts.task.name in TASKS else TASK
    shared = ["--task", task, "--data", data or DATA]
    made = [_finetune(facts, stage, shared), _extract(facts, shared), _tune(facts), *_after(facts, data)]
    return Commands(
        lines=tuple(_line(words) for words in made if words), notes=tuple(_notes(facts, stage, data))
    )


def space_file(study: Study) -> tuple[str, dict[str, Any]]:
    """What the file of the search space is called, and what is in it; a fraction of the data is an option."""
    document = {key: value for key, value in study.space.items() if key != "name"}
    if study.data_fraction < 1 and "space" in document:
        document["space"] = _without_fraction(document["space"])
        document["start"] = [_without_fraction(point) for point in document.get("start", ())]
    return f"{study.space.get('name') or study.name}.yaml", {
        key: value for key, value in document.items() if value != []
    }


def _without_fraction(point: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in point.items() if key != "data_fraction"}


def _finetune(facts: Facts, stage: Stage | None, shared: list[str]) -> list[str]:
    """Nothing where the encoder was taken as it is, or its stage is not at hand."""
    place = facts.store.manifest.encoder.stage
    if stage is None or place is None:
        return []
    options = {
        "encoder": hub_name(stage.encoder.id, stage.encoder.revision),
        "fractions": f"{stage.fraction:g}",
        "seed": stage.seed,
        "learning-rate": f"{stage.learning_rate:g}",
        "batch": stage.batch,
        "precision": stage.precision,
        "out": Path(place).parent,
    }
    return ["finetune", *shared, *_spelled(options)]


def _extract(facts: Facts, shared: list[str]) -> list[str]:
    manifest = facts.store.manifest
    if not manifest.batch_tokens:  # of arrays
        return []
    options = {
        "encoder": manifest.encoder.stage or hub_name(manifest.encoder.id, manifest.encoder.revision),
        "format": manifest.format,
        "dtype": manifest.dtype,
        "tokens": manifest.tokens,
        "precision": manifest.precision,
        "batch-tokens": manifest.batch_tokens,
        "seed": manifest.seed,
        "out": facts.store.path,
    }
    return ["extract", *shared, *_spelled(options)]


def _tune(facts: Facts) -> list[str]:
    study, place = facts.run.study, facts.run.path.resolve()
    told = dict.fromkeys(event["run"] for event in facts.run.events() if event["event"] == TOLD)
    options = {
        "space": space_file(study)[0],
        "store": facts.store.path,
        "searcher": study.searcher,
        "scheduler": study.scheduler,
        "trials": study.trials,
        "seed": study.seed,
        "data-fraction": study.data_fraction if study.data_fraction < 1 else None,
        "folds": study.folds,
        "finalists": study.finalists,
        "seeds": study.seeds if study.finalists else None,
        "pack": study.pack,
        "generation": study.generation,
        "workers": study.workers,
        "objective": study.objective if study.objective != SCORE else None,
        "target": study.target,
        "patience": study.patience,
        "source": study.source,
        "precision": study.precision,
        "name": place.name + AGAIN,
        "runs": place.parent,
    }
    warm = ["--warm-start", *told] if told else []
    ladder = [] if study.ladder else ["--no-ladder"]
    return ["tune", *_spelled(options), *ladder, *warm]


def _after(facts: Facts, data: str | None) -> Iterator[list[str]]:
    place, chosen = facts.run.path.resolve(), facts.run.ensemble()
    again = str(place.with_name(place.name + AGAIN))
    others = sorted({member["run"] for member in chosen["members"]} - {"."}) if chosen else []
    method = chosen["method"] if chosen else Method.GREEDY
    if others or method not in (Method.GREEDY, Method.SINGLE):  # a search ends with these itself
        named = [] if method == Method.SINGLE else ["--method", str(method)]
        yield ["ensemble", again, *(str((place / other).resolve()) for other in others), *named]
    yield ["report", again, *(["--data", data] if data else [])]


def _notes(facts: Facts, stage: Stage | None, data: str | None) -> Iterator[str]:
    manifest = facts.store.manifest
    if data is None:
        yield f"{DATA} is the data with the digest {manifest.data}; no file says where it was."
    if facts.task.name not in TASKS:
        yield f"{TASK} is the file of the task {facts.task.name}."
    space, _ = space_file(facts.run.study)
    yield f"{space} is the search space, which stands in {REPORT_HTML}, and in {STUDY} as `space`."
    if not manifest.batch_tokens:
        yield "The store was not made by extraction, so nothing says how."
    elif stage is None and manifest.encoder.stage is not None:
        yield f"The stage {manifest.encoder.stage} is not here, so nothing says how it was fine-tuned."
    if (why := facts.run.ending()) is not None:
        yield f"The search ended before its last trial ({why}), which the commands do not repeat."


def _spelled(options: Mapping[str, object]) -> list[str]:
    return [
        word for name, value in options.items() if value is not None for word in (f"--{name}", str(value))
    ]


def _line(words: list[str]) -> str:
    return f"bv-search {shlex.join(words)}"
