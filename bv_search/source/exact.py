"""Matmuls as extraction makes them, in a process whose heads may round to fewer bits."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def exact_matmuls() -> Iterator[None]:
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
