"""The steps of one extraction under way: plan, encode what is not done, put the manifest together."""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bv_search.command import Progress
from bv_search.extract.here import Place
from bv_search.extract.job import BlockTask, Job, shards_of
from bv_search.extract.plan import Plan, SplitPlan, plan_split
from bv_search.extract.score import RoleScore, gather_logits, score_role
from bv_search.extract.statistics import gather_statistics
from bv_search.extract.tokenise import DataFacts
from bv_search.extract.work import read_entry, read_unfinished, refuse_changes, write_plan
from bv_search.store.folder import Folder, damage
from bv_search.store.layout import NONE
from bv_search.store.manifest import AnyBlock, BareBlock, Baseline, FileEntry, Manifest, SplitEntry
from bv_search.tasks.row import Role

Entries = dict[tuple[str, int], AnyBlock]
Sizes = Mapping[str, Sequence[int]]  # windows of the blocks that a split has already


@dataclass(kw_only=True)
class Run:
    """An extraction under way: who does the work, what is known, what has been done this time."""

    job: Job
    place: Place
    facts: DataFacts
    predicts: bool
    progress: Progress
    encoded_blocks: int = 0
    encoded_tokens: int = 0
    encode_seconds: float = 0.0

    @property
    def folder(self) -> Folder:
        return self.job.folder


def make_plan(run: Run, settings: Mapping[str, Any]) -> Plan:
    """The plan of the interrupted extraction that is there, or a new one."""
    folder = run.folder
    plan = read_unfinished(folder)
    sizes: dict[str, list[int]] = {}
    if plan is not None:
        refuse_changes(dict(settings), plan.settings, folder, "an unfinished extraction")
        if not any(_damage(folder, split.index) for split in plan.splits.values()):
            return plan
        sizes = {name: [block.windows for block in split.blocks] for name, split in plan.splits.items()}
    plan = Plan(settings=json.loads(json.dumps(settings)), splits=plan_splits(run, run.facts.names, sizes))
    write_plan(folder, plan)
    return plan


def plan_splits(run: Run, names: Sequence[str], sizes: Sizes) -> dict[str, SplitPlan]:
    facts = {each.name: each for each in run.facts.splits if each.name in names}
    shards = {name: shards_of(name, each.rows) for name, each in facts.items()}
    every = [shard for each in shards.values() for shard in each]
    for count, _ in enumerate(run.place.tokenise(run.job, every), start=1):
        run.progress.update(f"tokenised {count} of {len(every)} shards of rows")
    return {
        name: run.place.call(plan_split, run.job, facts[name], shards[name], sizes.get(name))
        for name in facts
    }


def find_done(run: Run, plan: Plan) -> Entries:
    """Blocks that an interrupted extraction has left finished, and those that nothing is asked of."""
    found = {(task.split, task.number): _done_already(run, plan, task) for task in plan.tasks()}
    return {place: entry for place, entry in found.items() if entry is not None}


def _done_already(run: Run, plan: Plan, task: BlockTask) -> AnyBlock | None:
    """Of training rows moments are wanted, even where neither states nor logits are kept."""
    if run.job.settings.format == NONE and not run.predicts and task.role != Role.TRAIN:
        block = plan.splits[task.split].blocks[task.number]
        return BareBlock(windows=block.windows, tokens=block.tokens)
    return read_entry(run.folder, task)


def encode(run: Run, plan: Plan, done: Entries) -> Entries:
    """Encode what is not done; lines of the manifest for all blocks."""
    tasks = [task for task in plan.tasks() if (task.split, task.number) not in done]
    total = len(tasks) + len(done)
    if done:
        run.progress.say(f"going on: {len(done)} of {total} blocks are done already")
    started = time.perf_counter()
    entries = dict(done)
    for task, entry in run.place.encode(run.job, tasks) if tasks else ():
        entries[task.split, task.number] = entry
        run.encoded_blocks += 1
        run.encoded_tokens += plan.splits[task.split].blocks[task.number].encoded
        run.encode_seconds = time.perf_counter() - started
        rate = run.encoded_tokens / run.encode_seconds
        run.progress.update(f"encoded {len(entries)} of {total} blocks, {rate / 1000:.1f} k tokens/s")
    return entries


def assemble(run: Run, plan: Plan, entries: Entries) -> Manifest:
    splits: dict[str, SplitEntry] = {}
    for name, split in plan.splits.items():
        logits = run.place.call(gather_logits, run.job, name, len(split.blocks)) if run.predicts else None
        splits[name] = split_entry(split, [entries[name, each.number] for each in split.blocks], logits)
    chosen = run.job.settings
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
        statistics=run.place.call(gather_statistics, run.job, splits),
        baseline=score_baseline(run, splits) if run.predicts else None,
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


def score_baseline(run: Run, splits: Mapping[str, SplitEntry]) -> Baseline:
    select, report = (_score(run, splits, role) for role in (Role.SELECT, Role.REPORT))
    return Baseline(
        select=select.metrics, report=report.metrics, select_score=select.score, report_score=report.score
    )


def _score(run: Run, splits: Mapping[str, SplitEntry], role: Role) -> RoleScore:
    files = [
        (split.index, split.encoder)
        for split in splits.values()
        if split.role == role and split.encoder is not None
    ]
    return run.place.call(score_role, run.job, files)


def _damage(folder: Folder, entry: FileEntry) -> str | None:
    return damage(folder, entry.file, entry.size, entry.digest)
