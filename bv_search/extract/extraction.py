"""Extraction from beginning to end: look, lock the folder, plan, encode, commit."""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

from bv_search.command import Progress
from bv_search.errors import StoreError
from bv_search.extract.config import ExtractConfig
from bv_search.extract.executor import Executor, LocalExecutor
from bv_search.extract.job import WORK, ExtractInputs, ExtractJob
from bv_search.extract.lock import hold
from bv_search.extract.plan import survey_data
from bv_search.extract.repair import repair
from bv_search.extract.resume import read_unfinished, refuse_changes, refuse_other_things
from bv_search.extract.settings import Begun, EncoderFacts, settings_of, settle, survey_encoder
from bv_search.extract.steps import Extraction, assemble, encode, find_done, make_plan
from bv_search.files import DISK, Disk, absolute, absolute_if_there
from bv_search.store.folder import Folder, open_folder
from bv_search.store.layout import MANIFEST
from bv_search.store.manifest import Baseline, Manifest
from bv_search.store.store import read_manifest
from bv_search.store.writer import commit_manifest
from bv_search.tasks.registry import find_task


@dataclass(frozen=True, kw_only=True)
class ExtractResult:
    """The store, and what making it took. `encoded_blocks` of its `blocks` were encoded this time."""

    store: str
    manifest: Manifest
    tokens: int  # that the encoder read, of the whole store
    bytes: int
    seconds: float
    encode_seconds: float
    blocks: int
    encoded_blocks: int
    encoded_tokens: int

    def to_json(self) -> dict[str, Any]:
        rate = self.encoded_tokens / self.encode_seconds if self.encode_seconds > 0 else 0.0
        return {
            "store": self.store,
            "windows": self.manifest.windows,
            "tokens": self.tokens,
            "bytes": self.bytes,
            "seconds": round(self.seconds, 3),
            "tokens_per_second": round(rate, 1),
            "metrics": metrics_of(self.manifest.baseline),
            "blocks": self.blocks,
            "encoded_blocks": self.encoded_blocks,
        }


def metrics_of(baseline: Baseline | None) -> dict[str, float] | None:
    """The encoder's own figures on report, or None where it predicts nothing."""
    return None if baseline is None else {**baseline.report, "score": baseline.report_score}


def run(
    config: ExtractConfig, progress: Progress, executor: Executor | None = None, disk: Disk = DISK
) -> ExtractResult:
    """Extract, or go on extracting, or find that all is done already."""
    started = time.perf_counter()
    task = find_task(config.task)
    folder = open_folder(config.out)
    refuse_other_things(folder)
    if config.repair and not folder.exists(MANIFEST):
        raise StoreError(
            "there is no store to repair",
            where=config.out,
            do="run the command without --repair: it goes on with what is there",
        )
    inputs = ExtractInputs(
        task=task.to_json(),
        encoder=absolute_if_there(config.encoder),
        data=None if config.data is None else absolute_if_there(config.data),
    )
    encoder = survey_encoder(inputs.encoder, task)
    with _executor(config, encoder, executor, progress) as chosen:
        extraction = _begin(config, chosen, inputs, encoder, progress)
        with hold(folder) as token:
            extraction.job = replace(extraction.job, token=token, disk=disk)
            manifest = _extract(extraction, mend=config.repair)
    return _result(config, extraction, manifest, time.perf_counter() - started)


@contextmanager
def _executor(
    config: ExtractConfig, encoder: EncoderFacts, given: Executor | None, progress: Progress
) -> Iterator[Executor]:
    if given is not None or config.workers == 0:
        yield given or LocalExecutor(threads=config.threads)
        return
    # Ray takes seconds to load, and is not needed for the above
    from bv_search.cluster import ray_session
    from bv_search.extract.ray_executor import RayExecutor

    with ray_session():
        yield RayExecutor(
            encoder.entry.parameters, workers=config.workers, threads=config.threads, tell=progress.say
        )


def _begin(
    config: ExtractConfig,
    executor: Executor,
    inputs: ExtractInputs,
    encoder: EncoderFacts,
    progress: Progress,
) -> Extraction:
    task = find_task(config.task)
    facts = executor.call(survey_data, inputs)
    for doubt in facts.doubts:
        progress.say(doubt)
    begun = _begun(open_folder(config.out))
    settings = settle(config, task, encoder, executor.hardware(), facts.digest, begun)
    job = ExtractJob(
        inputs=inputs,
        out=absolute(config.out),
        settings=settings,
        limits=config.limits,
        threads=executor.threads,
        token="",
    )
    return Extraction(job=job, executor=executor, facts=facts, predicts=encoder.predicts, progress=progress)


def _begun(folder: Folder) -> Begun | None:
    """What is damaged is told where it is read to go on from."""
    with suppress(StoreError):
        if folder.exists(MANIFEST):
            return Begun.of(settings_of(read_manifest(folder)))
        if (plan := read_unfinished(folder)) is not None:
            return Begun.of(plan.settings)
    return None


def _extract(extraction: Extraction, *, mend: bool) -> Manifest:
    folder, ours = extraction.folder, extraction.job.settings.to_json()
    folder.sweep()
    if folder.exists(MANIFEST):
        finished = _finished(folder, mend=mend)
        if finished is not None:
            refuse_changes(ours, settings_of(finished), folder, "a store")
            if mend:
                finished = repair(extraction, finished)
            folder.delete(WORK)
            return finished
    plan = make_plan(extraction, ours)
    if (doubt := plan.placement.doubt) is not None:
        extraction.progress.say(doubt)
    done = encode(extraction, plan, find_done(extraction, plan))
    manifest = assemble(extraction, plan, done)
    folder.sweep()
    commit_manifest(folder, manifest)
    folder.delete(WORK)
    return manifest


def _finished(folder: Folder, *, mend: bool) -> Manifest | None:
    """The manifest that is there. One that is damaged vouches for nothing: repair starts over without it."""
    try:
        return read_manifest(folder)
    except StoreError:
        if not mend:
            raise
        folder.delete(MANIFEST)
        return None


def _result(
    config: ExtractConfig, extraction: Extraction, manifest: Manifest, seconds: float
) -> ExtractResult:
    return ExtractResult(
        store=config.out,
        manifest=manifest,
        tokens=sum(split.encoded_tokens for split in manifest.splits.values()),
        bytes=sum(each.size for each in manifest.files()) + len(manifest.to_bytes()),
        seconds=seconds,
        encode_seconds=extraction.encode_seconds,
        blocks=sum(len(split.blocks) for split in manifest.splits.values()),
        encoded_blocks=extraction.encoded_blocks,
        encoded_tokens=extraction.encoded_tokens,
    )


def describe(result: ExtractResult) -> str:
    """The same for a reader."""
    said = result.to_json()
    lines = [
        f"{result.store}: {said['windows']:,} windows, {said['tokens']:,} tokens, "
        f"{said['bytes'] / 1e9:.2f} GB, "
        f"{said['encoded_blocks']} of {said['blocks']} blocks encoded in {said['seconds']:.1f} s"
    ]
    if said["metrics"]:
        figures = ", ".join(f"{name} {value:.4f}" for name, value in said["metrics"].items())
        lines.append(f"the encoder's own predictions on report: {figures}")
    return "\n".join(lines)
