"""What is asked of fine-tuning."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from bv_search.command import AUTO
from bv_search.encoder.stage import stage_name
from bv_search.errors import UnknownName, UserError
from bv_search.options import DataOption, EncoderOption, Option, TaskOption
from bv_search.precision import BFLOAT16, FLOAT32
from bv_search.words import numbers, positive_int

PRECISIONS = (AUTO, FLOAT32, BFLOAT16)
"""float16 is none: gradients of an encoder would fall below its smallest number."""

RIDING = 16  # heads, where the space is not a list of points
RIDERS = "heads that ride along"
MEMORY = "where memory is short"


@dataclass(frozen=True, kw_only=True)
class FinetuneConfig:
    """One training run through all the fractions of epochs, and where its stages go."""

    task: TaskOption
    encoder: EncoderOption
    fractions: Annotated[
        tuple[float, ...],
        Option("epochs after which a stage is kept; 0: as it is", read=numbers, metavar="F,…"),
    ]
    out: Annotated[Path, Option("folder for the stages")]
    data: DataOption = None
    seed: Annotated[int, Option("of head, order and dropout")] = 0
    learning_rate: Annotated[float, Option("constant after warm-up", metavar="RATE")] = 2e-5
    batch: Annotated[int, Option("windows per step", read=positive_int)] = 8
    device: Annotated[str, Option("auto, cpu or cuda")] = AUTO
    precision: Annotated[
        str,
        Option(
            "of matrix products (default: as what is in the folder has it, or 16 bits where the machine is "
            "faster at them)",
            choices=PRECISIONS,
        ),
    ] = AUTO
    workers: Annotated[
        int,
        Option(
            "processes that read each step together, with a GPU each where there are any, else a share of "
            "the cores",
            read=positive_int,
            metavar="N",
        ),
    ] = 1
    accumulate: Annotated[
        int,
        Option(
            "read the windows of a step in N parts, one after another, and add their gradients up",
            read=positive_int,
            metavar="N",
            group=MEMORY,
        ),
    ] = 1
    checkpointing: Annotated[
        bool,
        Option(
            "compute activations again for the gradients rather than keep them: the same stages, later",
            group=MEMORY,
        ),
    ] = False
    heads: Annotated[
        str | Mapping[str, Any] | None,
        Option(
            "a search space, shipped or a YAML file: heads of it learn on the hidden states of each step",
            metavar="SPACE",
            group=RIDERS,
        ),
    ] = None
    trials: Annotated[
        int | None,
        Option(f"heads that ride (default: {RIDING}, or all of a list)", read=positive_int, group=RIDERS),
    ] = None
    until_heads_plateau: Annotated[
        int | None,
        Option(
            "stop after N fractions in a row at which the best head does no better on select than before",
            read=positive_int,
            group=RIDERS,
        ),
    ] = None

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
