"""The ladder: answers that need no search, from knowing nothing to a linear probe of all channels.

A search that does not rise above them has found nothing. They are heads like all others. Free of torch.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from bv_search.heads.config import ConstantHead, HeadConfig, HeadShape, LinearHead
from bv_search.scan.training import TrainingConfig
from bv_search.scan.trial import TrialConfig

MAJORITY, ENCODER, PROBE = "majority", "encoder", "probe"
"""What stands on the ladder, from below; the encoder's own answers are no head."""

TRAINING = TrainingConfig(learning_rate=1e-3)
"""Of probes that are trained like any head: those of spans, which no solver takes."""


@dataclass(frozen=True, kw_only=True)
class LadderRung:
    trial: str  # its name in a run
    rung: str  # majority or probe
    config: TrialConfig
    is_solved: bool  # at once, or trained in a pack

    def to_json(self) -> dict[str, Any]:
        """Its configuration as a space would write it."""
        head = self.config.head
        written: dict[str, Any] = {"head": {"kind": head.kind}}
        if isinstance(head, LinearHead):
            written["head"]["channels"] = head.channels
        return written if self.is_solved else {**written, "learning_rate": TRAINING.learning_rate}


def rungs_of(shape: HeadShape) -> Iterator[LadderRung]:
    """The most frequent answer, or the mean; each channel; all channels."""
    yield _rung(MAJORITY, MAJORITY, ConstantHead(), is_solved=True)
    for channel in range(shape.layers):
        yield _rung(f"probe-{channel}", PROBE, LinearHead(channels=channel), is_solved=not shape.per_token)
    yield _rung("probe-all", PROBE, LinearHead(channels="all"), is_solved=not shape.per_token)


def _rung(trial: str, rung: str, head: HeadConfig, *, is_solved: bool) -> LadderRung:
    config = TrialConfig(head=head, training=TRAINING)
    return LadderRung(trial=trial, rung=rung, config=config, is_solved=is_solved)
