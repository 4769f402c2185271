"""Which layers a learned pooling listens to."""

from collections.abc import Sequence
from dataclasses import dataclass

from bv_search.heads.branches.mix import Mix
from bv_search.heads.head import Head
from bv_search.report.facts import Facts


@dataclass(frozen=True, kw_only=True)
class LayerWeights:
    trial: str
    score: float | None  # on report
    channels: tuple[str, ...]
    weights: Sequence[float]  # they sum to 1


def layer_weights(facts: Facts) -> LayerWeights | None:
    """Of the best head that has a learned pooling."""
    for record in facts.ranked:
        folder = facts.run.trial_folder(record.id)
        if not folder.is_dir():
            continue
        for branch in Head.from_pretrained(folder).branches:
            mix = getattr(branch, "mix", None)
            if isinstance(mix, Mix) and mix.logits_L is not None:
                weights = mix.logits_L.detach().softmax(dim=0).tolist()
                return LayerWeights(
                    trial=record.id,
                    score=record.report_score,
                    channels=tuple(facts.store.manifest.layers),
                    weights=weights,
                )
    return None
