"""What is asked of extraction."""

from dataclasses import dataclass
from typing import Annotated

from bv_search.command import AUTO
from bv_search.errors import UserError
from bv_search.options import DataOption, Option, TaskOption, check_choices
from bv_search.precision import PRECISIONS
from bv_search.store.dtype import STORED
from bv_search.store.layout import FORMATS, LIMITS, MICRO_BATCH, TOKENS, BlockLimits
from bv_search.words import positive_int, refuse, size

MOST_WORKERS = 10_000  # processes, of all machines
MOST_THREADS = 1_024  # of one of them


def read_layers(text: str) -> tuple[int, ...] | None:
    if text == "all":
        return None
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        refuse(text, "all, or numbers as in 0,6,12")


def read_limits(text: str) -> BlockLimits:
    return BlockLimits(bytes=size(text), windows=MICRO_BATCH)


@dataclass(frozen=True, kw_only=True)
class ExtractConfig:
    """One extraction: which encoder on which data, what is kept of it, and where."""

    task: TaskOption
    encoder: Annotated[str, Option("a stage, a transformers folder, or a name on the Hub")]
    out: Annotated[str, Option("the store's folder or address", metavar="STORE")]
    data: DataOption = None
    format: Annotated[
        str,
        Option(
            "of blocks; none: keep nothing, the encoder feeds the heads as they train, --source live",
            choices=FORMATS,
        ),
    ] = "npy"
    dtype: Annotated[str, Option("of values", choices=sorted(STORED))] = "float16"
    layers: Annotated[
        tuple[int, ...] | None,
        Option("0 is the embeddings (default: all)", read=read_layers, metavar="all|N,…"),
    ] = None
    tokens: Annotated[
        str | None, Option("of a window (default: all for spans, first for the rest)", choices=TOKENS)
    ] = None
    workers: Annotated[
        int | None,
        Option(
            "encoding processes (default: one per GPU, also of machines to come; without any, one per CPU "
            "as far as memory goes: each takes twice the encoder's weights and 2GB); 0: no Ray"
        ),
    ] = None
    threads: Annotated[
        int | None, Option("of each worker on CPUs (default: its share)", read=positive_int)
    ] = None
    precision: Annotated[
        str,
        Option(
            "of the forward pass (default: as a store that is there has it, or 16 bits where the machine is "
            "faster at them)",
            choices=(AUTO, *PRECISIONS),
        ),
    ] = AUTO
    batch_tokens: Annotated[
        int | None,
        Option("of one forward pass, padding included (default: 1024, on a GPU 4096)", read=positive_int),
    ] = None
    limits: Annotated[
        BlockLimits,
        Option(
            f"a block is closed at this size (default: {LIMITS.bytes >> 20}MiB)",
            read=read_limits,
            metavar="SIZE",
            name="--block-size",
        ),
    ] = LIMITS
    seed: Annotated[int, Option("of the order of rows")] = 0
    repair: Annotated[bool, Option("redo the damaged files of a finished store")] = False

    def __post_init__(self) -> None:
        check_choices(self)
        for name, value, least, most in (
            ("--workers", self.workers, 0, MOST_WORKERS),
            ("--threads", self.threads, 1, MOST_THREADS),
            ("--batch-tokens", self.batch_tokens, 1, 1 << 30),
            ("--seed", self.seed, 0, (1 << 63) - 1),
        ):
            if value is not None and value < least:
                raise UserError(f"{name} is too small", expected=f"at least {least}", found=value)
            if value is not None and value > most:
                raise UserError(f"{name} is too large", expected=f"at most {most:,}", found=value)
        if self.layers is not None and (not self.layers or len(set(self.layers)) < len(self.layers)):
            raise UserError(
                "--layers is wrong", expected="different layers, as in 0,6,12", found=list(self.layers)
            )
