"""Searches whose course through a cluster is simulated: how much there is to read, and to send."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bv_search.heads.config import HeadShape
from bv_search.scan.trial import TrialConfig
from bv_search.tune.packing import Rungs, plan_rungs
from bv_search.tune.sizes import count
from bv_search.tune.space import Space, find_space

HALF, FULL = 2, 4  # bytes of a number in a store, and of a weight or an answer
STATE_COPIES = 4  # a head's weights, Adam's two moments, and the running mean


@dataclass(frozen=True, kw_only=True)
class ClusterWork:
    """Every token, or the first, has the states of every channel."""

    about: str
    windows: int  # of train
    select: int  # windows that judge heads on their way
    report: int
    tokens: int  # of a window
    layers: int
    width: int
    space_name: str = "adapters"
    one_token: bool = False

    @property
    def row_bytes(self) -> int:
        return self.tokens * self.layers * self.width * HALF

    @property
    def bytes(self) -> int:
        """Of the training rows."""
        return self.windows * self.row_bytes

    @property
    def shape(self) -> HeadShape:
        spans = not self.one_token
        return HeadShape(layers=self.layers, width=self.width, outputs=2, per_token=spans, tokens=self.tokens)

    @cached_property
    def space(self) -> Space:
        return find_space(self.space_name, one_token=self.one_token)

    @cached_property
    def configs(self) -> list[TrialConfig]:
        return self.space.typed_corners()

    @cached_property
    def rungs(self) -> Rungs:
        return plan_rungs(self.configs, self.windows, halving=True, one_token=self.one_token)

    @cached_property
    def weight_bytes(self) -> float:
        """Of the space's average head."""
        return FULL * float(np.mean([count(config.head, self.shape) for config in self.configs]))

    @property
    def state_bytes(self) -> float:
        """Of it, on its way."""
        return STATE_COPIES * self.weight_bytes

    @property
    def answer_bytes(self) -> float:
        """What a head says of select and report."""
        return float((self.select + self.report) * self.tokens * self.shape.outputs * FULL)


WORKS = {
    "bert-large": ClusterWork(
        about="BERT-large, SQuAD 2.0, windows of 386 tokens",
        windows=131_944,
        select=12_000,
        report=12_232,
        tokens=386,
        layers=25,
        width=1024,
    ),
    "decoder-8b": ClusterWork(
        about="a decoder of 8 B parameters, SQuAD 2.0, windows of 220 tokens on average",
        windows=131_944,
        select=12_000,
        report=12_232,
        tokens=220,
        layers=33,
        width=4096,
    ),
}
