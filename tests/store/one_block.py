"""A process of its own: it writes one block, and says what memory that took."""

import json
import sys

import numpy as np

from bv_search.bench.memory import forget_peak, peak, resident
from bv_search.store.folder import open_folder
from bv_search.store.layout import block_file
from bv_search.store.writer import BlockForm, BlockWriter

LAYERS, WINDOWS, TOKENS, WIDTH = 8, 96, 64, 1024


def write(place: str, form: BlockForm, windows: int) -> int:
    """Every value once; bytes of the block."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(LAYERS, TOKENS, WIDTH)).astype(np.float16)
    with BlockWriter(open_folder(place), block_file("x", 0, form.format), form, [TOKENS] * windows) as block:
        for window in range(windows):
            block.fill(window, values)
            block.filled([window])
        block.commit()
        return block.hidden_LTH.nbytes


def main(place: str, fmt: str) -> None:
    layers = tuple(f"layer {number}" for number in range(LAYERS))
    form = BlockForm(layers=layers, width=WIDTH, dtype="float16", format=fmt)
    write(f"{place}/warm", form, 1)  # what libraries load at their first use is no part of it
    forget_peak()
    before = resident()
    size = write(f"{place}/block", form, WINDOWS)
    print(json.dumps({"block": size, "taken": peak() - before}))  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
