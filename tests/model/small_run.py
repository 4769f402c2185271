"""A small finished study, made by the real parts without Ray: data → stage → store → heads → run folder."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from safetensors.torch import load

from bv_search.command import Progress
from bv_search.encoder.checkpoint import load_encoder
from bv_search.encoder.encoder import Encoder
from bv_search.files import digest_bytes
from bv_search.finetune.config import FinetuneConfig
from bv_search.finetune.finetuning import run as finetune
from bv_search.heads.copies import part_tensors, save_heads
from bv_search.heads.head import Head
from bv_search.heads.inputs import Standard
from bv_search.run import Run, Study, write_predictions
from bv_search.run.roles import role_ids
from bv_search.scan.ladder import rungs_of
from bv_search.scan.outcome import Final, Start
from bv_search.scan.scanner import Scanner
from bv_search.scan.store_view import role_index
from bv_search.scan.trial import TrialConfig
from bv_search.source.channels import Channels
from bv_search.store.layout import POOLER, channel_name, seeded_order
from bv_search.store.manifest import Baseline, EncoderEntry
from bv_search.store.store import Store
from bv_search.store.writer import SplitArrays, write_store
from bv_search.tasks.dataset import load_dataset
from bv_search.tasks.registry import find_task
from bv_search.tasks.row import Role
from bv_search.tasks.task import Task

CONFIGS: dict[str, dict[str, Any]] = {
    "0001": {"head": {"kind": "pooling", "pooling": "learned"}, "learning_rate": 0.01},
    "0002": {"head": {"kind": "adapter", "size": 8, "shared": True}, "learning_rate": 0.01},
    "0003": {"head": {"kind": "adapter", "size": 4, "shared": False, "skip": True}, "learning_rate": 0.003},
}


@dataclass(frozen=True, kw_only=True)
class Small:
    """Where everything stands."""

    data: Path
    stage: Path
    store: Store
    run: Run


def make_stage(task: str, encoder: Path, data: Path, out: Path, fraction: float) -> Path:
    config = FinetuneConfig(
        task=task, encoder=str(encoder), fractions=(fraction,), out=out, data=str(data), learning_rate=1e-3
    )
    (saved,) = finetune(config, Progress(quiet=True))
    return Path(saved.path)


def make_store(task: Task, stage: Path, data: Path, place: Path, *, tokens: str) -> Store:
    """What extraction leaves, for a data set that fits in memory."""
    encoder = load_encoder(stage, device="cpu")
    dataset = load_dataset(task, str(data))
    layers = tuple(channel_name(layer) for layer in range(encoder.layers))
    layers += (POOLER,) if tokens == "first" else ()
    channels = Channels(layers=layers, tokens=tokens, dtype="float16", width=encoder.width)
    splits = {
        split.name: _arrays(task, encoder, channels, split.rows, split.name, str(split.role))
        for split in dataset.splits
    }
    entry = EncoderEntry(
        id=encoder.identity.id,
        revision=encoder.identity.revision,
        digest=encoder.identity.digest,
        parameters=encoder.parameters,
        stage=str(stage),
        fraction=encoder.stage.fraction if encoder.stage else None,
    )
    return write_store(
        place,
        splits,
        task=task.to_json(),
        encoder=entry,
        baseline=_baseline(task, splits) if encoder.predicts else None,
        layers=layers,
        tokens=tokens,
        data=dataset.digest,
    )


def _arrays(
    task: Task, encoder: Encoder, channels: Channels, rows: Sequence[Any], name: str, role: str
) -> SplitArrays:
    windows = task.windows(rows, encoder.tokenizer)
    index = windows.take(pa.array(seeded_order(windows.num_rows, 0, name)))
    hidden, logits = [], []
    for ids, types in zip(index["token_ids"].to_pylist(), index["type_ids"].to_pylist(), strict=True):
        encoded = encoder.encode([ids], [types])
        hidden.append(channels.join(encoded).numpy())
        if encoded.logits is not None:
            logits.append(encoded.logits[0].numpy())
    return SplitArrays(role=role, index=index, hidden=hidden, logits=logits or None)


def _baseline(task: Task, splits: Mapping[str, SplitArrays]) -> Baseline:
    found = {}
    for role in ("select", "report"):
        parts = [each for each in splits.values() if each.role == role]
        logits = [window for part in parts for window in part.logits or ()]
        found[role] = task.evaluate(pa.concat_tables([part.index for part in parts]), logits)
    return Baseline(
        select=found["select"].metrics,
        report=found["report"].metrics,
        select_score=found["select"].score,
        report_score=found["report"].score,
    )


def make_run(
    store: Store, place: Path, configs: Mapping[str, dict[str, Any]] | None = None, *, folds: int = 1
) -> Run:
    """What a search leaves."""
    torch.set_num_threads(1)
    configs = CONFIGS if configs is None else configs
    baseline = store.manifest.baseline
    study = Study(
        name=place.name,
        space={"trials": list(configs.values())},
        store=store.path,
        store_digest=store.digest,
        task=store.manifest.task,
        searcher="grid",
        scheduler="none",
        trials=len(configs),
        seed=0,
        pack="auto",
        generation=None,
        data_fraction=1.0,
        encoder_parameters=store.encoder_parameters,
        baseline=None if baseline is None else asdict(baseline),
        folds=folds,
    )
    run = Run.create(place, study)
    scanner = Scanner(store.path, folds=folds)
    rungs = list(rungs_of(scanner.shape))
    for rung in rungs:
        event = {"event": "suggest", "trial": rung.trial, "config": rung.to_json(), "rung": rung.rung}
        run.journal.append(event)
    for trial, config in configs.items():
        run.journal.append({"event": "suggest", "trial": trial, "config": config})
    solved = [Start(trial=rung.trial, config=rung.config) for rung in rungs if rung.is_solved]
    trained = [Start(trial=rung.trial, config=rung.config) for rung in rungs if not rung.is_solved]
    trained += [Start(trial=trial, config=TrialConfig.from_json(each)) for trial, each in configs.items()]
    finals = [*scanner.solve(solved), *scanner.final(_train(run, store, scanner, trained))]
    for start, final in zip([*solved, *trained], finals, strict=True):
        assert isinstance(final, Final)
        _finish(run, store, final, start.config)
    run.write_leaderboard()
    run.journal.append({"event": "end", "seconds": {"search": 1.5, "total": 2.0}})
    return run


def _train(run: Run, store: Store, scanner: Scanner, starts: Sequence[Start]) -> list[bytes]:
    """One pass over the rows, all heads together."""
    rows = scanner.training_data([]).rows.split.windows
    states = []
    for end in scanner.segment(starts, -(-rows // 16), score={start.trial for start in starts}):
        assert end.state is not None
        assert end.found is not None
        run.journal.append(
            {
                "event": "segment",
                "trial": end.trial,
                "position": end.position,
                "rows": end.rows,
                "found": asdict(end.found),
                "checks": [asdict(check) for check in end.checks],
                "has_learned": end.has_learned,
                "seconds": 0.5,
                "state": digest_bytes(end.state),
            }
        )
        states.append(end.state)
    return states


def _finish(run: Run, store: Store, final: Final, config: TrialConfig) -> None:
    folder = run.new_trial_folder(final.trial)
    heads = []
    for own in part_tensors(load(final.weights), final.copies):
        shape = final.shape
        standard = Standard.empty(shape.layers, shape.width, has_values=shape.is_value)
        inputs = standard if config.reads_standard else None
        heads.append(Head(config.head, final.shape, inputs))
        heads[-1].load_weights(own, where=folder)
    manifest = store.manifest
    save_heads(
        heads,
        folder,
        trial=final.trial,
        task=manifest.task,
        encoder=asdict(manifest.encoder),
        tokens=manifest.tokens,
        layers=list(manifest.layers),
        dtype=manifest.dtype,
        store={"path": store.path, "digest": store.digest},
    )
    for role, answers in ((Role.SELECT, final.select), (Role.REPORT, final.report)):
        write_predictions(folder / f"{role}.parquet", answers.ids, answers.logits)
    if final.train is not None:
        write_predictions(folder / "train.parquet", final.train.ids, final.train.logits)
    run.journal.append(
        {
            "event": "finish",
            "trial": final.trial,
            "status": "done",
            "score": final.select.score,
            "loss": final.select.loss,
            "draws": list(final.select.draws),
            "parameters": final.parameters,
            "report": {
                "score": final.report.score,
                "interval": list(final.report.interval or ()),
                "metrics": final.report.metrics,
            },
            "files": run.trial_digests(final.trial),
        }
    )


def make_small(task_name: str, encoder: Path, data: Path, place: Path, *, fraction: float = 1.0) -> Small:
    task = find_task(task_name)
    stage = make_stage(task_name, encoder, data, place / "stages", fraction)
    tokens = "all" if task.kind == "span" else "first"
    store = make_store(task, stage, data, place / "store", tokens=tokens)
    return Small(data=data, stage=stage, store=store, run=make_run(store, place / "runs" / "first"))


@cache
def shared_small(task_name: str, encoder: Path, data: Path, place: Path) -> Small:
    """One for all rooms of a test session; those who change the run take a copy of it."""
    return make_small(task_name, encoder, data, place)


def copy_run(small: Small, place: Path) -> Run:
    shutil.copytree(small.run.path, place)
    return Run.open(place)


def gold_logits(small: Small, role: Role, share: float, seed: int) -> list[np.ndarray]:
    """Sure and right on a share of the rows, leaning to "no answer" on the others."""
    index = role_index(small.store, role)
    rng = np.random.default_rng(seed)
    found = []
    for length, label in zip(index["length"].to_pylist(), index["label"].to_pylist(), strict=True):
        logits = np.zeros((length, 2), np.float32)
        knows = rng.random() < share
        start, end = map(int, label) if knows else (0, 0)
        logits[start, 0] = logits[end, 1] = 8.0 if knows else 1.0
        found.append(logits)
    return found


def teach(small: Small, run: Run, trial: str, share: float, seed: int = 0) -> None:
    """Have a head know a share of the answers, on select and on report."""
    finish = next(e for e in run.events() if e["event"] == "finish" and e["trial"] == trial)
    found = {}
    for role in (Role.SELECT, Role.REPORT):
        logits = gold_logits(small, role, share, seed)
        write_predictions(run.trial_folder(trial) / f"{role}.parquet", role_ids(small.store, role), logits)
        found[role] = small.store.task.evaluate(role_index(small.store, role), logits)
    report = found[Role.REPORT]
    said = {"score": report.score, "interval": list(report.interval()), "metrics": report.metrics}
    select = {"score": found[Role.SELECT].score, "draws": found[Role.SELECT].draws()}
    run.journal.append({**finish, **select, "report": said, "files": run.trial_digests(trial)})


def note_files(run: Run, trial: str, **changes: Any) -> None:
    """As they are now, for all that reads them."""
    finish = next(e for e in reversed(run.events()) if e["event"] == "finish" and e["trial"] == trial)
    run.journal.append({**finish, **changes, "files": run.trial_digests(trial)})


def bag(run: Run, trial: str) -> None:
    """What a finale leaves of a trial, here as good on report as the trial is."""
    record = next(record for record in run.trials() if record.id == trial)
    report = {"score": record.report_score, "interval": record.interval, "metrics": record.metrics}
    made = {"status": "done", "parameters": record.parameters, "report": report, "files": record.files}
    for name in ("bagged", "single"):
        shutil.copytree(run.trial_folder(trial), run.trial_folder(f"{trial}-{name}"))
    event = {"event": "encore", "of": trial, "rows": 96, "seconds": 1.0}
    run.journal.append({**event, "bagged": made, "single": made})
