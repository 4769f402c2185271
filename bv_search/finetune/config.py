"""What is asked of fine-tuning."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
    accumulate: int = 1  # parts that a worker reads its windows of a step in, to need less memory
    checkpointing: bool = False  # activations are computed again for the gradients: less memory, more time
    workers: int = 1  # that read each step together, a part each
    heads: str | Mapping[str, Any] | None = None  # a search space, of whose heads some ride along
    trials: int | None = None  # heads that ride; None: a list's points, else RIDING
    until_heads_plateau: int | None = None  # stages in a row without a better best head that end it

    @property
    def marks(self) -> tuple[float, ...]:
        """The fractions in the order of training, each once, as their folders spell them."""
        return tuple(sorted({float(stage_name(fraction)) for fraction in self.fractions}))

    @property
    def parts(self) -> int:
        """That a step is read in."""
        return self.workers * self.accumulate

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
        self._check_parts()
        self._check_ride()
        if self.seed < 0:
            raise UserError("the seed is wrong", expected="a whole number from 0 on", found=self.seed)

    def _check_parts(self) -> None:
        for name, value in (("--accumulate", self.accumulate), ("--workers", self.workers)):
            if value < 1:
                raise UserError(f"{name} is wrong", expected="a whole number above 0", found=value)
        if self.parts > self.batch:
            raise UserError(
                "a step has fewer windows than parts",
                expected=f"--workers × --accumulate up to --batch, {self.batch}",
                found=self.parts,
            )

    def _check_ride(self) -> None:
        if self.heads is not None and self.workers > 1:
            raise UserError(
                "heads ride along with one worker",
                expected="--workers 1",
                found=self.workers,
                do="leave out --workers, or --heads: bv-search tune finds heads on the stages",
            )
        for option, value in (("trials", self.trials), ("until_heads_plateau", self.until_heads_plateau)):
            name = f"--{option.replace('_', '-')}"
            if value is not None and self.heads is None:
                raise UserError(f"{name} is of heads that ride along", expected=f"--heads SPACE {name} N")
            if value is not None and value < 1:
                raise UserError(f"{name} is wrong", expected="a whole number above 0", found=value)
