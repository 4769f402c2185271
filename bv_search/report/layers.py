"""Layer by layer: what a linear probe finds in it, and how much a learned pooling listens to it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch

from bv_search.heads.branches.mix import Mix
from bv_search.heads.config import head_from_json
from bv_search.heads.copies import load_heads
from bv_search.heads.head import Head
from bv_search.report.facts import Facts
from bv_search.run.trial import TrialRecord
from bv_search.scan.ladder import PROBE

ALL = "all"  # channels that the largest probe reads


@dataclass(frozen=True, kw_only=True)
class Layer:
    """A channel of the store, whether a layer or a pooler."""

    channel: str
    probe: TrialRecord | None
    weight: float | None


@dataclass(frozen=True, kw_only=True)
class Layers:
    each: Sequence[Layer]
    together: TrialRecord | None  # the probe of all channels
    pooling: TrialRecord | None  # the best head with a learned pooling; its weights sum to 1

    @property
    def probes(self) -> list[tuple[int, TrialRecord]]:
        return [(place, layer.probe) for place, layer in enumerate(self.each) if layer.probe is not None]


def find_layers(facts: Facts) -> Layers | None:
    """None where there is neither a probe of a channel nor a learned pooling."""
    probes = _probes(facts)
    pooling, weights = _learned_pooling(facts)
    each = [
        Layer(channel=channel, probe=probes.get(place), weight=weights[place] if weights else None)
        for place, channel in enumerate(facts.store.manifest.layers)
    ]
    if pooling is None and all(layer.probe is None for layer in each):
        return None
    return Layers(each=each, together=probes.get(ALL), pooling=pooling)


def _probes(facts: Facts) -> Mapping[int | str, TrialRecord]:
    """By the channel that they read; a search may try linear heads too, and those are none."""
    return {record.config["head"]["channels"]: record for record in facts.ranked if record.rung == PROBE}


def _learned_pooling(facts: Facts) -> tuple[TrialRecord | None, Sequence[float]]:
    for record in facts.ranked:
        if not head_from_json(record.config["head"]).learns_mix:
            continue
        folder = facts.run.head_folder(record.id)
        if weights := [own for head in load_heads(folder) for own in learned_weights(head)]:
            return record, torch.stack(weights).mean(dim=0).tolist()
    return None, ()


def learned_weights(head: Head) -> list[torch.Tensor]:
    """weights_L of its first learned pooling, if it has one."""
    mixes = (getattr(branch, "mix", None) for branch in head.branches)
    learned = (mix.logits_L for mix in mixes if isinstance(mix, Mix) and mix.logits_L is not None)
    return [logits_L.detach().softmax(dim=0) for logits_L in learned][:1]
