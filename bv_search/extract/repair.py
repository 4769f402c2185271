"""Repair: redo the damaged files of a finished store, and no others."""

from dataclasses import replace

from bv_search.extract.job import WORK
from bv_search.extract.plan import Plan
from bv_search.extract.score import gather_logits
from bv_search.extract.steps import Run, encode, plan_splits, score_baseline, split_entry
from bv_search.store.folder import damage
from bv_search.store.layout import MANIFEST
from bv_search.store.manifest import FileEntry, Manifest, SplitEntry


def repair(run: Run, manifest: Manifest) -> Manifest:
    """Redo the damaged files; the manifest changes only if what is redone has other bytes."""
    folder = run.folder
    bad = {each.file for each in manifest.files() if damage(folder, each.file, each.size, each.digest)}
    run.progress.say(f"repairing {len(bad)} of {sum(1 for _ in manifest.files())} files")
    splits = {
        name: _repair_split(run, name, split, bad)
        for name, split in manifest.splits.items()
        if bad & {split.index.file, *(block.file for block in split.kept), *_files(split.encoder)}
    }
    repaired = replace(manifest, splits={**manifest.splits, **splits})
    if repaired != manifest:
        if run.predicts:
            repaired = replace(repaired, baseline=score_baseline(run, repaired.splits))
        folder.write(MANIFEST, repaired.to_bytes())
    return repaired


def _repair_split(run: Run, name: str, split: SplitEntry, bad: set[str]) -> SplitEntry:
    """Lost logits cost a forward pass over the whole split, since they come from all of its blocks."""
    if split.index.file in bad:
        run.folder.delete(f"{WORK}/windows")
    plan = plan_splits(run, [name], {name: [block.windows for block in split.blocks]})[name]
    everything = bool(bad & set(_files(split.encoder)))
    lost = {number for number, block in enumerate(split.kept) if block.file in bad}
    done = {
        (name, number): block
        for number, block in enumerate(split.blocks)
        if number not in lost and not everything
    }
    entries = encode(run, Plan(settings={}, splits={name: plan}), done)
    logits = split.encoder
    if everything:
        logits = run.place.call(gather_logits, run.job, name, len(split.blocks))
    return split_entry(plan, [entries[name, each.number] for each in plan.blocks], logits)


def _files(entry: FileEntry | None) -> list[str]:
    return [] if entry is None else [entry.file]
