"""What a run cost, as far as it was kept."""

import shutil
from dataclasses import replace
from pathlib import Path

from bv_search.report.cost import costs_of, stage_of
from bv_search.report.facts import Facts, gather
from bv_search.run import Run
from bv_search.store.store import Store
from tests.model.small_run import Small


def at_stage(facts: Facts, place: Path) -> Facts:
    """The same, of an encoder that is said to stand there."""
    manifest = facts.store.manifest
    encoder = replace(manifest.encoder, stage=str(place))
    moved = Store(facts.store.folder, replace(manifest, encoder=encoder), verify=facts.store.verify)
    return replace(facts, store=moved)


def test_each_step_has_its_seconds_and_bytes(small: Small) -> None:
    facts = gather(small.run)
    stage = stage_of(facts)
    assert stage is not None
    finetune, extract, tune, *parts = costs_of(facts, stage)
    assert (finetune.step, finetune.seconds) == ("finetune, 1 epoch", stage.seconds)
    assert finetune.size == sum(path.stat().st_size for path in small.stage.rglob("*") if path.is_file())
    assert extract.size == sum(
        path.stat().st_size for path in Path(small.store.path).rglob("*") if path.is_file()
    )
    assert (tune.step, tune.seconds) == ("tune", 2.0)
    assert [(part.step, part.seconds, part.is_part) for part in parts] == [("search", 1.5, True)]


def test_a_report_does_not_change_what_a_run_takes(run: Run) -> None:
    facts = gather(run)
    before = costs_of(facts, None)
    (run.path / "report.html").write_text("a long page")
    assert costs_of(facts, None) == before


def test_an_encoder_that_is_gone_or_damaged_has_no_cost(small: Small, tmp_path: Path) -> None:
    facts = gather(small.run)
    gone = at_stage(facts, tmp_path / "gone")
    assert stage_of(gone) is None
    assert [each.step for each in costs_of(gone, None)][:2] == ["extract", "tune"]
    damaged = shutil.copytree(small.stage, tmp_path / "damaged")
    assert stage_of(at_stage(facts, damaged)) is not None
    weights = damaged / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"?")
    assert stage_of(at_stage(facts, damaged)) is None
