"""Micro-batches on their way to the heads. CUDA is stood in for: the order of calls needs no GPU."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from bv_search.scan import batch as module
from bv_search.scan.batch import Batch, widen

GPU = torch.device("cuda")


class Stream:
    def __init__(self, name: str, log: list[str]) -> None:
        self.name, self._log = name, log

    def wait_stream(self, other: "Stream") -> None:
        self._log.append(f"{self.name} wait for {other.name}")


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is asked of CUDA, in its order."""
    said: list[str] = []
    copies, heads = Stream("copies", said), Stream("heads", said)

    @contextmanager
    def on(stream: Stream) -> Iterator[None]:
        said.append(f"on {stream.name}")
        yield
        said.append(f"off {stream.name}")

    monkeypatch.setattr(torch.cuda, "Stream", lambda device: copies)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: heads)
    monkeypatch.setattr(torch.cuda, "stream", on)
    monkeypatch.setattr(Tensor, "record_stream", lambda self, stream: said.append(f"kept for {stream.name}"))
    return said


def numbered(log: list[str], count: int) -> Iterator[Batch]:
    for number in range(count):
        log.append(f"made {number}")
        yield Batch(
            windows=slice(number, number + 1),
            lengths_N=torch.tensor([2]),
            states={None: torch.full((1, 2, 3), float(number))},
        )


def test_the_next_micro_batch_is_on_its_way_to_the_gpu_while_heads_use_this_one(
    log: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_batches", lambda split, parts, wanted: numbered(log, 2))
    split: Any = None

    for batch in module.batches(split, [], module.WantedStates(device=GPU)):
        log.append(f"used {int(batch.states[None][0, 0, 0])}")

    kept = ["kept for heads"] * 2  # the hidden states and the lengths
    assert log == [
        *["on copies", "made 0", "off copies"],
        *["heads wait for copies", *kept, "on copies", "made 1", "off copies", "used 0"],
        *["heads wait for copies", *kept, "on copies", "off copies", "used 1"],
    ]


def test_what_goes_to_a_gpu_is_pinned_and_widened_there(monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[tuple[str, Any]] = []

    def pin(self: Tensor) -> Tensor:
        steps.append(("pinned", (self.is_contiguous(), self.dtype)))
        return self

    def to(self: Tensor, where: Any, **how: Any) -> Tensor:
        steps.append(("to", (where, how)))
        return self

    monkeypatch.setattr(Tensor, "pin_memory", pin)
    monkeypatch.setattr(Tensor, "to", to)

    widen(np.zeros((2, 6, 3), np.float16)[:, 1:4], GPU)

    assert steps == [
        ("pinned", (True, torch.float16)),
        ("to", (GPU, {"non_blocking": True})),
        ("to", (torch.float32, {})),
    ]
