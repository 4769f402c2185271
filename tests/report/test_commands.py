"""The commands of a report are ones that can be typed."""

import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from bv_search.__main__ import find_command
from bv_search.command import build_parser
from bv_search.options import fill
from bv_search.report.commands import commands_of, space_file
from bv_search.report.cost import costs_of, stage_of
from bv_search.report.facts import Facts, gather
from bv_search.run import Run
from bv_search.space.space import parse_space
from tests.model.small_run import Small

SPACE: dict[str, Any] = {
    "name": "few",
    "space": {
        "head": {"choice": [{"kind": "pooling", "pooling": "learned"}, {"kind": "adapter", "size": 16}]},
        "learning_rate": 0.01,
        "data_fraction": 0.5,
    },
    "start": [{"head": {"kind": "adapter", "size": 16}, "learning_rate": 0.01, "data_fraction": 0.5}],
}


def parsed(facts: Facts, data: str | None = None) -> dict[str, Any]:
    """What each command is asked for, as it reads its words itself."""
    found = {}
    for line in commands_of(facts, stage_of(facts), data).lines:
        program, verb, *words = shlex.split(line)
        assert program == "bv-search"
        command = find_command(verb)
        found[verb] = fill(command.config, build_parser(command).parse_args(words))
    return found


def test_a_stage_is_made_again_as_it_was(small: Small) -> None:
    facts = gather(small.run)
    stage = stage_of(facts)
    assert stage is not None
    asked = parsed(facts, str(small.data))["finetune"]
    assert (asked.task, asked.encoder, asked.data) == ("squad2-span", stage.encoder.id, str(small.data))
    assert asked.fractions == (stage.fraction,)
    assert (asked.seed, asked.learning_rate, asked.batch) == (stage.seed, stage.learning_rate, stage.batch)
    assert asked.out / f"{stage.fraction:g}" == small.stage


@pytest.mark.parametrize(
    "change", [{}, {"folds": 3, "generation": 4, "patience": 7}, {"target": 0.5, "workers": 2}]
)
def test_a_search_is_asked_for_as_it_was(run: Run, change: dict[str, Any]) -> None:
    run.change_study(space=SPACE, searcher="random", scheduler="asha", data_fraction=0.5, seed=7, **change)
    facts = gather(run)
    config = parsed(facts)["tune"].config()
    study = facts.run.study
    for name in ("searcher", "scheduler", "trials", "seed", "data_fraction", "folds", "finalists", "pack"):
        assert getattr(config, name) == getattr(study, name), name
    for name in ("generation", "patience", "target", "workers", "source", "precision"):
        assert getattr(config, name) == getattr(study, name), name
    assert config.name == f"{run.path.name}-again"
    assert config.store == facts.store.path
    assert config.space == "few.yaml"


def test_the_space_on_the_page_is_a_space(run: Run) -> None:
    run.change_study(space=SPACE, data_fraction=0.5)
    name, document = space_file(run.study)
    assert name == "few.yaml"
    space = parse_space(yaml.safe_load(yaml.safe_dump(document)), "few")
    assert "data_fraction" not in space.document["space"]  # --data-fraction says it
    assert list(space.start) == [{"head": {"kind": "adapter", "size": 16}, "learning_rate": 0.01}]


def test_what_nobody_wrote_down_is_said(run: Run, small: Small) -> None:
    facts = gather(run)
    notes = "\n".join(commands_of(facts, None, None).notes)
    assert f"DATA is the data with the digest {facts.store.manifest.data}" in notes
    assert "The store was not made by extraction" in notes
    assert "extract" not in parsed(facts)
    assert "DATA is" not in "\n".join(commands_of(facts, None, str(small.data)).notes)


def test_a_step_costs_what_was_kept_of_it(run: Run, small: Small) -> None:
    facts = gather(run)
    found = {each.step: each for each in costs_of(facts, stage_of(facts))}
    assert found["finetune, 1 epoch"].size == sum(
        path.stat().st_size for path in Path(small.stage).rglob("*") if path.is_file()
    )
    assert found["extract"].seconds is None
    assert (
        found["extract"].size or 0
    ) > small.store.manifest.stored_tokens * small.store.manifest.token_bytes
    assert found["tune"].seconds == pytest.approx(2.0)
    assert found["search"].is_part
    assert found["search"].seconds == pytest.approx(1.5)
    assert costs_of(facts, None)[0].step == "extract"
