"""What is asked of fine-tuning."""

import math
from dataclasses import dataclass
from pathlib import Path

from bv_search.command import AUTO
from bv_search.encoder.stage import stage_name
from bv_search.errors import UnknownName, UserError
from bv_search.precision import BFLOAT16, FLOAT32

PRECISIONS = (AUTO, FLOAT32, BFLOAT16)
"""float16 is none: gradients of an encoder would fall below its smallest number."""


@dataclass(frozen=True, kw_only=True)
class FinetuneConfig:
    """One training run through all the fractions of epochs, and where its stages go."""

    task: str  # a name, or the path of a YAML file
    encoder: str  # a transformers folder, or a name on the Hub
    fractions: tuple[float, ...]  # epochs; 0 keeps the encoder as it is
    out: Path  # a folder of stages
    data: str | None = None  # a local folder or file; None: the Hub
    seed: int = 0
    learning_rate: float = 2e-5
    batch: int = 8  # windows per step
    device: str = AUTO
    precision: str = AUTO  # of matrix products; auto: as the folder's stages have it, else the faster one

    @property
    def marks(self) -> tuple[float, ...]:
        """The fractions in the order of training, each once, as their folders spell them."""
        return tuple(sorted({float(stage_name(fraction)) for fraction in self.fractions}))

    def __post_init__(self) -> None:
        if not self.fractions:
            raise UserError("no fractions of epochs", expected="numbers such as 0.3,1,2")
        for fraction in self.fractions:
            if not (math.isfinite(fraction) and fraction >= 0):
                raise UserError(
                    "a fraction of epochs is wrong", expected="a number from 0 on", found=fraction
                )
        if not (math.isfinite(self.learning_rate) and self.learning_rate > 0):
            raise UserError(
                "the learning rate is wrong", expected="a number above 0", found=self.learning_rate
            )
        if self.precision not in PRECISIONS:
            raise UnknownName("precision", self.precision, PRECISIONS)
        if self.batch < 1:
            raise UserError("the batch is wrong", expected="at least 1 window", found=self.batch)
        if self.seed < 0:
            raise UserError("the seed is wrong", expected="a whole number from 0 on", found=self.seed)
