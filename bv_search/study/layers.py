"""Study 6: what each layer is worth at each stage, by its linear probe and by a learned pooling."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from bv_search.encoder.stage import stage_name
from bv_search.heads.config.poolings import PoolingHead
from bv_search.heads.copies import load_heads
from bv_search.report.layers import ALL, learned_weights
from bv_search.run.folder import Run
from bv_search.study.entry import Entry
from bv_search.study.figures import layers_figure
from bv_search.study.folder import StudyFolder
from bv_search.study.section import Section
from bv_search.study.steps import GRID
from bv_search.study.table import Form, StudyTable, TableColumn, after


@dataclass(frozen=True, kw_only=True)
class StageLayers:
    """By channel."""

    stage: float
    channels: tuple[str, ...]
    probes: tuple[float | None, ...]  # scores on report
    together: float | None  # of the probe of all channels
    weights: tuple[float | None, ...]  # of a learned pooling, the mean of its seeds; they sum to 1

    @property
    def best_probe(self) -> str | None:
        known = [
            (score, name) for score, name in zip(self.probes, self.channels, strict=True) if score is not None
        ]
        return max(known)[1] if known else None


def study_layers(made: StudyFolder) -> Section:
    # an encoder as it comes may lack the pooler that fine-tuning adds: then it has no figures of it
    channels = max((made.stores[stage].manifest.layers for stage in made.heads), key=len)
    found = [_layers(made, stage, channels) for stage in made.heads]
    return Section(
        study="layers",
        title="What each layer is worth",
        sentences=tuple(_sentences(found)),
        tables=(_table(made, found),),
        figures=tuple(layers_figure(made, found)),
    )


def _layers(made: StudyFolder, stage: float, channels: Sequence[str]) -> StageLayers:
    own = made.stores[stage].manifest.layers
    probes = {
        entry.config["head"]["channels"]: entry.report
        for entry in made.probes.get(stage, [])
        if "channels" in entry.config["head"]
    }
    pooling = next((entry for entry in made.heads[stage] if _is_learned_pooling(made, entry)), None)
    weights = dict(zip(own, _weights(pooling), strict=True)) if pooling is not None else {}
    return StageLayers(
        stage=stage,
        channels=tuple(map(str, channels)),
        probes=tuple(probes.get(own.index(name)) if name in own else None for name in channels),
        together=probes.get(ALL),
        weights=tuple(weights.get(name) for name in channels),
    )


def _is_learned_pooling(made: StudyFolder, entry: Entry) -> bool:
    same = isinstance(entry.head, PoolingHead) and entry.head.pooling == "learned"
    return same and entry.run is made.run(GRID, entry.stage)


def _weights(entry: Entry) -> list[float | None]:
    of_seeds = [_weights_of(entry.run, record.id) for record in entry.records]
    return [fmean(weights) for weights in zip(*of_seeds, strict=True)]


def _weights_of(run: Run, trial: str) -> list[float]:
    (head,) = load_heads(run.head_folder(trial))
    (weights_L,) = learned_weights(head)
    found: list[float] = weights_L.tolist()
    return found


def _sentences(found: list[StageLayers]) -> Iterator[str]:
    for each in found:
        if (best := each.best_probe) is None:
            continue
        score = max(score for score in each.probes if score is not None)
        together = "" if each.together is None else f", one on all layers {each.together:.4f}"
        yield (f"{after(each.stage)} the best layer by a linear probe is {best}: {score:.4f}{together}.")


def _table(made: StudyFolder, found: list[StageLayers]) -> StudyTable:
    channels = found[0].channels
    return StudyTable(
        name="layers",
        title=f"{made.task.name}: each layer's linear probe, and its weight in a learned pooling",
        columns=(
            TableColumn(name="layer", form=Form.TEXT),
            *(TableColumn(name=f"probe {stage_name(each.stage)}") for each in found),
            *(TableColumn(name=f"weight {stage_name(each.stage)}") for each in found),
        ),
        rows=(
            *(
                (
                    channel,
                    *(each.probes[place] for each in found),
                    *(each.weights[place] for each in found),
                )
                for place, channel in enumerate(channels)
            ),
            ("all together", *(each.together for each in found), *(None for _ in found)),
        ),
        note="Numbers in the heads of columns are epochs of fine-tuning. Probes have their score on report "
        "rows. Weights are those of the grid's learned pooling, the mean of its seeds; they sum to 1.",
    )
