"""What is written of the heads that rode along up to a stage."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bv_search.encoder.stage import Stage, stage_name
from bv_search.files import digest_bytes, folder_being_made
from bv_search.finetune.ride import Ride
from bv_search.finetune.riders import Rider
from bv_search.finetune.saved_heads import SavedHeads, heads_folder, read_heads
from bv_search.heads.copies import weights_bytes
from bv_search.run.finals import failure, write_final
from bv_search.run.folder import Run
from bv_search.run.journal import Event
from bv_search.run.study import RIDE, Study
from bv_search.run.trial import DONE
from bv_search.scan.checks import Check
from bv_search.scan.judge import Verdict
from bv_search.scan.outcome import Diverged, Final
from bv_search.scan.trial import TrialConfig
from bv_search.source.channels import Channels
from bv_search.store.layout import MICRO_BATCH
from bv_search.store.manifest import EncoderEntry
from bv_search.tasks.row import Role


@dataclass(frozen=True, kw_only=True)
class JudgedHead:
    """A head at a stage, and what it is worth there; None where its answers are no numbers."""

    rider: Rider
    select: Verdict | None
    report: Verdict | None


def judged(riders: Sequence[Rider], verdicts: Mapping[Role, Sequence[Verdict | None]]) -> list[JudgedHead]:
    both = zip(riders, verdicts[Role.SELECT], verdicts[Role.REPORT], strict=True) if riders else ()
    return [JudgedHead(rider=rider, select=select, report=report) for rider, select, report in both]


@dataclass(frozen=True, kw_only=True)
class StageHeads:
    """All that is written of heads at a stage."""

    ride: Ride
    configs: Sequence[TrialConfig]  # of all that rode along
    judged: Sequence[JudgedHead]
    lost: Sequence[Diverged]
    ids: Mapping[Role, list[str]]  # of the windows that they were judged by
    seconds: Mapping[str, float]
    channels: Channels
    encoder_parameters: int


def write_heads(found: StageHeads, stage: Stage, place: Path) -> SavedHeads:
    """The run, whole or absent; `place` is the stage's."""
    path = heads_folder(place.parent, stage.fraction)
    with folder_being_made(path) as part:
        run = Run.begin(part, _study(found, stage, place), _suggested(found.configs))
        run.journal.append(
            *(event for each in found.judged for event in _ended(run, each, found, stage, place))
        )
        if found.lost:
            run.journal.append(*(failure(each.trial, str(each)) for each in found.lost))
        run.write_leaderboard()
        run.journal.append({"event": "end", "seconds": dict(found.seconds), "memory": {}, "why": None})
    return read_heads(path, kept=False)


def _study(found: StageHeads, stage: Stage, place: Path) -> Study:
    metrics = {role.value: dict(stage.metrics[role.value]) for role in (Role.SELECT, Role.REPORT)}
    baseline = {
        role: {name: value for name, value in own.items() if name != "score"} for role, own in metrics.items()
    }
    scores = {f"{role}_score": own["score"] for role, own in metrics.items()}
    return Study(
        name=f"{stage.task['name']}-{stage_name(stage.fraction)}",
        space=found.ride.to_json(),
        store=str(place.resolve()),
        store_digest=stage.weights,
        task=stage.task,
        searcher="grid" if found.ride.space.is_enumerable() else "random",
        scheduler="none",
        trials=len(found.configs),
        seed=found.ride.seed,
        pack=str(len(found.configs)),
        generation=None,
        data_fraction=1.0,
        encoder_parameters=found.encoder_parameters,
        baseline={**baseline, **scores},
        source=RIDE,
        precision=stage.precision,
    )


def _suggested(configs: Sequence[TrialConfig]) -> list[Event]:
    return [
        {"event": "suggest", "trial": f"{number:04d}", "config": config.to_json()}
        for number, config in enumerate(configs)
    ]


def _ended(run: Run, judged: JudgedHead, found: StageHeads, stage: Stage, place: Path) -> list[Event]:
    rider, select, report = judged.rider, judged.select, judged.report
    if select is None or report is None:
        lost = Diverged(trial=rider.trial, position=rider.position, what="answers")
        return [failure(rider.trial, str(lost))]
    final = Final(
        trial=rider.trial,
        shape=rider.head.shape,
        weights=weights_bytes([rider.head]),
        copies=1,
        parameters=rider.head.parameter_count(),
        report=report.answers(found.ids[Role.REPORT], told=True),
        select=select.answers(found.ids[Role.SELECT], told=False),
        train=None,
    )
    check = Check(
        position=rider.position, rows=rider.position * MICRO_BATCH, score=select.score, loss=select.loss
    )
    segment = {
        "event": "segment",
        "trial": rider.trial,
        "position": rider.position,
        "rows": check.rows,
        "found": asdict(check),
        "checks": [],
        "has_learned": False,
        "seconds": found.seconds[RIDE] / len(found.configs),
        "state": digest_bytes(final.weights),
    }
    return [segment, write_final(run, final, _about(rider, found, stage, place), DONE)]


def _about(rider: Rider, found: StageHeads, stage: Stage, place: Path) -> dict[str, Any]:
    """What config.json says beside the weights: enough to answer new rows with."""
    encoder = EncoderEntry(
        id=stage.encoder.id,
        revision=stage.encoder.revision,
        digest=stage.weights,
        parameters=found.encoder_parameters,
        stage=str(place.resolve()),
        fraction=stage.fraction,
    )
    channels = found.channels
    return {
        **rider.head.to_json(),
        "copies": 1,
        "trial": rider.trial,
        "training": rider.config.training.to_json(),
        "task": dict(stage.task),
        "encoder": asdict(encoder),
        "precision": channels.precision,
        "tokens": channels.tokens,
        "dtype": channels.dtype,
        "layers": list(channels.layers),
    }
