"""Who reads which windows of a step of fine-tuning: one worker all of them, or several a share each."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, distributed

from bv_search.encoder.batches import Indices

BUCKET = 1 << 24  # numbers that workers add up at once


@dataclass(frozen=True, kw_only=True)
class StepPart:
    """Windows that are read at once."""

    number: int  # of all parts of the step
    windows: Indices
    weight: float  # their share of the step's windows


@dataclass(frozen=True, kw_only=True)
class Share:
    """What one of several workers does of every step. They stand in torch's default process group."""

    worker: int = 0
    workers: int = 1

    def parts_of(self, chosen: Indices, accumulate: int) -> list[StepPart]:
        """This worker's. One that gets no window reads one for nothing: its gradients are waited for."""
        cut = np.array_split(chosen, self.workers * accumulate)
        first = self.worker * accumulate
        parts = [
            StepPart(number=number, windows=cut[number], weight=len(cut[number]) / len(chosen))
            for number in range(first, first + accumulate)
            if len(cut[number])
        ]
        return parts or [StepPart(number=first, windows=chosen[:1], weight=0.0)]

    def tell(self, news: object) -> None:
        """All other workers, of whom each has to `hear`."""
        if self.workers > 1:
            distributed.broadcast_object_list([news], src=0, device=torch.device("cpu"))

    def hear(self) -> Any:
        heard = [None]
        distributed.broadcast_object_list(heard, src=0, device=torch.device("cpu"))
        return heard[0]

    def add_up(self, tensors: Sequence[Tensor]) -> None:
        """Over all workers, in place."""
        if self.workers == 1:
            return
        for bucket in _buckets(tensors):
            flat = torch.cat([tensor.reshape(-1) for tensor in bucket])
            distributed.all_reduce(flat)
            totals = torch.split(flat, [each.numel() for each in bucket])
            for tensor, total in zip(bucket, totals, strict=True):
                tensor.copy_(total.view_as(tensor))


ALONE = Share()


def _buckets(tensors: Sequence[Tensor]) -> Iterator[list[Tensor]]:
    """Few and large: an exchange takes its time however small it is."""
    bucket: list[Tensor] = []
    for tensor in tensors:
        if bucket and sum(each.numel() for each in bucket) + tensor.numel() > BUCKET:
            yield bucket
            bucket = []
        bucket.append(tensor)
    if bucket:
        yield bucket
