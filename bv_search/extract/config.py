"""What is asked of extraction."""

from dataclasses import dataclass, field

from bv_search.command import AUTO
from bv_search.errors import UserError
from bv_search.precision import PRECISIONS
from bv_search.store.dtype import stored_dtype
from bv_search.store.layout import FORMATS, LIMITS, TOKENS, BlockLimits

MOST_WORKERS = 10_000  # processes, of all machines
MOST_THREADS = 1_024  # of one of them


@dataclass(frozen=True, kw_only=True)
class ExtractConfig:
    """One extraction: which encoder on which data, what is kept of it, and where."""

    task: str  # a name, or the path of a YAML file
    encoder: str  # a stage, a transformers folder, or a name on the Hub
    out: str  # the store's folder or address
    data: str | None = None  # a local folder or file; None: the Hub
    format: str = "npy"  # of blocks; none: no hidden states are kept
    dtype: str = "float16"  # how values are stored
    layers: tuple[int, ...] | None = None  # 0 is the embeddings; None: all
    tokens: str | None = None  # all | first | mean; None: all for spans, first for the rest
    workers: int | None = None  # encoding processes; 0: this process, without Ray; None: as many as fit
    threads: int | None = None  # of each worker on a CPU
    precision: str = AUTO  # of the forward pass; auto: 16 bits where the hardware has them
    batch_tokens: int | None = None  # tokens of a batch, padding included; None: by the device
    seed: int = 0  # of the order of rows
    repair: bool = False  # redo the damaged files of a finished store
    limits: BlockLimits = field(default=LIMITS)

    def __post_init__(self) -> None:
        stored_dtype(self.dtype)
        _one_of("--format", self.format, FORMATS)
        _one_of("--tokens", self.tokens, (None, *TOKENS))
        _one_of("--precision", self.precision, (AUTO, *PRECISIONS))
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


def _one_of(option: str, value: str | None, known: tuple[str | None, ...]) -> None:
    if value not in known:
        names = ", ".join(name for name in known if name is not None)
        raise UserError(f"{option} is wrong", expected=f"one of {names}", found=value)
