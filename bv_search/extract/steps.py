"""The steps of one extraction under way: plan, encode what is not done, put the manifest together."""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bv_search.command import Progress
from bv_search.extract.assembly import RoleScore, gather_logits, gather_statistics, score_role
from bv_search.extract.executor import Executor
from bv_search.extract.job import BlockTask, ExtractJob, shards_of
from bv_search.extract.plan import DataFacts, Plan, SplitPlan, plan_split
from bv_search.extract.resume import read_entry, read_unfinished, refuse_changes, write_plan
from bv_search.store.folder import Folder, damage
from bv_search.store.layout import NONE
from bv_search.store.manifest import AnyBlock, BareBlock, Baseline, FileEntry, Manifest, SplitEntry
from bv_search.tasks.row import Role

Entries = dict[tuple[str, int], AnyBlock]
Sizes = Mapping[str, Sequence[int]]  # windows of the blocks that a split has already


@dataclass(kw_only=True)
class Extraction:
    """An extraction under way: who does the work, what is known, what has been done this time."""

    job: ExtractJob
    executor: Executor
    facts: DataFacts
    predicts: bool
    progress: Progress
    encoded_blocks: int = 0
    encoded_tokens: int = 0
    encode_seconds: float = 0.0

    @property
    def folder(self) -> Folder:
        return self.job.folder


def make_plan(extraction: Extraction, settings: Mapping[str, Any]) -> Plan:
    """The plan of the interrupted extraction that is there, or a new one."""
    folder = extraction.folder
    plan = read_unfinished(folder)
    sizes: dict[str, list[int]] = {}
    if plan is not None:
        refuse_changes(dict(settings), plan.settings, folder, "an unfinished extraction")
        if not any(_damage(folder, split.index) for split in plan.splits.values()):
            return plan
        sizes = {name: [block.windows for block in split.blocks] for name, split in plan.splits.items()}
    plan = Plan(
        settings=json.loads(json.dumps(settings)),
        splits=plan_splits(extraction, extraction.facts.names, sizes),
    )
    write_plan(folder, plan)
    return plan


def plan_splits(extraction: Extraction, names: Sequence[str], sizes: Sizes) -> dict[str, SplitPlan]:
    facts = {each.name: each for each in extraction.facts.splits if each.name in names}
    shards = {name: shards_of(name, each.rows) for name, each in facts.items()}
    every = [shard for each in shards.values() for shard in each]
    for count, _ in enumerate(extraction.executor.tokenise(extraction.job, every), start=1):
        extraction.progress.update(f"tokenised {count} of {len(every)} shards of rows")
    return {
        name: extraction.executor.call(plan_split, extraction.job, facts[name], shards[name], sizes.get(name))
        for name in facts
    }


def find_done(extraction: Extraction, plan: Plan) -> Entries:
    """Blocks that an interrupted extraction has left finished, and those that nothing is asked of."""
    found = {(task.split, task.number): _done_already(extraction, plan, task) for task in plan.tasks()}
    return {place: entry for place, entry in found.items() if entry is not None}


def _done_already(extraction: Extraction, plan: Plan, task: BlockTask) -> AnyBlock | None:
    """Of training rows moments are wanted, even where neither states nor logits are kept."""
    if extraction.job.settings.format == NONE and not extraction.predicts and task.role != Role.TRAIN:
        block = plan.splits[task.split].blocks[task.number]
        return BareBlock(windows=block.windows, tokens=block.tokens)
    return read_entry(extraction.folder, task)


def encode(extraction: Extraction, plan: Plan, done: Entries) -> Entries:
    """Encode what is not done; lines of the manifest for all blocks."""
    tasks = [task for task in plan.tasks() if (task.split, task.number) not in done]
    total = len(tasks) + len(done)
    if done:
        extraction.progress.say(f"going on: {len(done)} of {total} blocks are done already")
    started = time.perf_counter()
    entries = dict(done)
    for task, entry in extraction.executor.encode(extraction.job, tasks) if tasks else ():
        entries[task.split, task.number] = entry
        extraction.encoded_blocks += 1
        extraction.encoded_tokens += plan.splits[task.split].blocks[task.number].encoded
        extraction.encode_seconds = time.perf_counter() - started
        rate = extraction.encoded_tokens / extraction.encode_seconds
        extraction.progress.update(f"encoded {len(entries)} of {total} blocks, {rate / 1000:.1f} k tokens/s")
    return entries


def assemble(extraction: Extraction, plan: Plan, entries: Entries) -> Manifest:
    splits: dict[str, SplitEntry] = {}
    for name, split in plan.splits.items():
        logits = (
            extraction.executor.call(gather_logits, extraction.job, name, len(split.blocks))
            if extraction.predicts
            else None
        )
        splits[name] = split_entry(split, [entries[name, each.number] for each in split.blocks], logits)
    chosen = extraction.job.settings
    return Manifest(
        task=chosen.task,
        encoder=chosen.encoder,
        tokenizer=chosen.tokenizer,
        tokens=chosen.tokens,
        layers=chosen.layers,
        shape=(len(chosen.layers), chosen.width),
        dtype=chosen.dtype,
        format=chosen.format,
        seed=chosen.seed,
        data=chosen.data,
        precision=chosen.precision,
        batch_tokens=chosen.batch_tokens,
        splits=splits,
        statistics=extraction.executor.call(gather_statistics, extraction.job, splits),
        baseline=score_baseline(extraction, splits) if extraction.predicts else None,
    )


def split_entry(split: SplitPlan, blocks: Sequence[AnyBlock], logits: FileEntry | None) -> SplitEntry:
    return SplitEntry(
        role=split.role,
        windows=sum(block.windows for block in blocks),
        tokens=sum(block.tokens for block in blocks),
        encoded_tokens=split.encoded_tokens,
        blocks=tuple(blocks),
        index=split.index,
        encoder=logits,
    )


def score_baseline(extraction: Extraction, splits: Mapping[str, SplitEntry]) -> Baseline:
    select, report = (_score(extraction, splits, role) for role in (Role.SELECT, Role.REPORT))
    return Baseline(
        select=select.metrics, report=report.metrics, select_score=select.score, report_score=report.score
    )


def _score(extraction: Extraction, splits: Mapping[str, SplitEntry], role: Role) -> RoleScore:
    files = [
        (split.index, split.encoder)
        for split in splits.values()
        if split.role == role and split.encoder is not None
    ]
    return extraction.executor.call(score_role, extraction.job, files)


def _damage(folder: Folder, entry: FileEntry) -> str | None:
    return damage(folder, entry.file, entry.size, entry.digest)
