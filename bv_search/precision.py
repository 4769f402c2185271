"""How many bits wide products take: 32, or 16 where the machine multiplies these faster.

Weights, optimisers, losses, statistics and sums have 32 bits everywhere. Free of torch until it is measured.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bv_search.command import AUTO

if TYPE_CHECKING:
    import torch

Multiply = Callable[["torch.Tensor", "torch.Tensor"], object]

FLOAT32, BFLOAT16, FLOAT16 = "float32", "bfloat16", "float16"
PRECISIONS = (FLOAT32, BFLOAT16, FLOAT16)

GAIN = 1.1  # times as fast as 32 bits; without units for them 16 bits take several times as long
SHAPE = (512, 384, 768)  # of the product that is measured: tokens of a piece, a width, features side by side
ROUNDS = 20  # the first one prepares what the others use


@dataclass(frozen=True, kw_only=True)
class PrecisionChoice:
    precision: str
    why: str

    def __str__(self) -> str:
        return f"precision: {self.precision} ({self.why})"


def choose_precision(
    asked: str,
    device: "torch.device",
    multiply: Multiply | None = None,
    *,
    among: Sequence[str] = (BFLOAT16, FLOAT16),
) -> PrecisionChoice:
    """What is asked for; `auto` measures a product, torch's own unless told. It takes a few milliseconds.

    bfloat16 comes first: it has the range of float32.
    """
    if asked != AUTO:
        return PrecisionChoice(precision=asked, why="as asked for")
    candidates = among if device.type == "cuda" else (BFLOAT16,)
    seconds = _measure((FLOAT32, *candidates), device, multiply)
    for precision in candidates:
        gain = seconds[FLOAT32] / seconds[precision]
        why = f"products of {precision} are {gain:.1f} times as fast as those of float32 here"
        if gain >= GAIN:
            return PrecisionChoice(precision=precision, why=why)
    return PrecisionChoice(precision=FLOAT32, why=why)


def dtype_of(precision: str) -> "torch.dtype":
    import torch

    dtype: torch.dtype = getattr(torch, precision)
    return dtype


def _measure(
    precisions: Sequence[str], device: "torch.device", multiply: Multiply | None
) -> dict[str, float]:
    """Seconds of the fastest product of each. They take turns on one core: whatever else runs slows all."""
    import torch

    rows, width, features = SHAPE
    inputs = {each: torch.ones(rows, width, device=device, dtype=dtype_of(each)) for each in precisions}
    weights = {
        each: torch.ones(features, width, device=device, dtype=torch.float32 if multiply else x_RX.dtype)
        for each, x_RX in inputs.items()
    }
    found = dict.fromkeys(precisions, float("inf"))
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    for each in tuple(precisions) * ROUNDS:
        begun = time.perf_counter()
        (multiply or torch.nn.functional.linear)(inputs[each], weights[each])
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        found[each] = min(found[each], time.perf_counter() - begun)
    torch.set_num_threads(threads)
    return found
