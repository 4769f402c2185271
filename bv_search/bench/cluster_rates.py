"""How fast the parts of a cluster are, and what they cost: what a simulated search goes by."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from bv_search.heads.config import HeadConfig, HeadShape
from bv_search.store.layout import MICRO_BATCH
from bv_search.tune.dry_run import batch_seconds

JUDGING = 1 / 3  # of the work of training on a row: no gradient


@dataclass(frozen=True, kw_only=True)
class ClusterRates:
    head_rows: float  # that a scan worker trains in a second: rows times heads of its pack
    disk: float  # bytes a second that a machine reads of its node cache
    network: float  # bytes a second into and out of each machine
    object_store: float  # bytes a second to all machines together
    driver_seconds: float  # of a trial
    workers_each: int  # scan workers of a machine
    cache: float  # bytes of the node cache of a machine
    price: float  # of a machine with workers, an hour
    head_price: float  # of the machine that drives, an hour

    def machines(self, workers: int) -> int:
        return -(-workers // self.workers_each)

    def cost(self, workers: int, seconds: float) -> float:
        return (self.machines(workers) * self.price + self.head_price) * seconds / 3600

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def measure_head_rows(heads: Sequence[HeadConfig], shape: HeadShape, tokens: int) -> float:
    """Of a pack on this machine: what a dry run quotes."""
    return MICRO_BATCH / batch_seconds(heads, shape, tokens)
