"""Repair: redo the damaged files of a finished store, and no others."""

from dataclasses import replace

from bv_search.extract.assembly import gather_logits, gather_statistics, measure_statistics
from bv_search.extract.job import WORK
from bv_search.extract.plan import Plan
from bv_search.extract.steps import Extraction, encode, plan_splits, score_baseline, split_entry
from bv_search.store.folder import damage
from bv_search.store.layout import MANIFEST
from bv_search.store.manifest import AnyBlock, FileEntry, Manifest, SplitEntry
from bv_search.tasks.row import Role


def repair(extraction: Extraction, manifest: Manifest) -> Manifest:
    """Redo the damaged files; the manifest changes only if what is redone has other bytes."""
    folder = extraction.folder
    bad = {each.file for each in manifest.files() if damage(folder, each.file, each.size, each.digest)}
    extraction.progress.say(f"repairing {len(bad)} of {sum(1 for _ in manifest.files())} files")
    splits = {
        name: _repair_split(extraction, name, manifest, bad)
        for name, split in manifest.splits.items()
        if bad & {split.index.file, *(block.file for block in split.kept), *_of_all_blocks(manifest, split)}
    }
    repaired = replace(manifest, splits={**manifest.splits, **splits})
    if manifest.statistics.file in bad or _train_blocks(repaired) != _train_blocks(manifest):
        repaired = replace(repaired, statistics=_redo_statistics(extraction, repaired))
    if repaired != manifest:
        if extraction.predicts:
            repaired = replace(repaired, baseline=score_baseline(extraction, repaired.splits))
        folder.write(MANIFEST, repaired.to_bytes())
    return repaired


def _repair_split(extraction: Extraction, name: str, manifest: Manifest, bad: set[str]) -> SplitEntry:
    split = manifest.splits[name]
    if split.index.file in bad:
        extraction.folder.delete(f"{WORK}/windows")
    plan = plan_splits(extraction, [name], {name: [block.windows for block in split.blocks]})[name]
    everything = bool(bad & _of_all_blocks(manifest, split))
    lost = {number for number, block in enumerate(split.kept) if block.file in bad}
    done = {
        (name, number): block
        for number, block in enumerate(split.blocks)
        if number not in lost and not everything
    }
    entries = encode(extraction, Plan(settings={}, splits={name: plan}), done)
    logits = split.encoder
    if logits is not None and logits.file in bad:
        logits = extraction.executor.call(gather_logits, extraction.job, name, len(split.blocks))
    return split_entry(plan, [entries[name, each.number] for each in plan.blocks], logits)


def _of_all_blocks(manifest: Manifest, split: SplitEntry) -> set[str]:
    """Files that come from all blocks of a split: lost, they cost a forward pass over the whole of it."""
    logits = set() if split.encoder is None else {split.encoder.file}
    needs_encoder = split.role == Role.TRAIN and not manifest.keeps_blocks
    return logits | ({manifest.statistics.file} if needs_encoder else set())


def _train_blocks(manifest: Manifest) -> list[AnyBlock]:
    return [block for split in manifest.splits.values() if split.role == Role.TRAIN for block in split.blocks]


def _redo_statistics(extraction: Extraction, manifest: Manifest) -> FileEntry:
    """Kept blocks are read; blocks that are not kept have just been encoded again."""
    if manifest.keeps_blocks:
        return extraction.executor.call(measure_statistics, extraction.job, manifest)
    return extraction.executor.call(gather_statistics, extraction.job, manifest.splits)
