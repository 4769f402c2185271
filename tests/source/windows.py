"""Windows of words that the tiny encoder knows, of different lengths."""

import numpy as np
import pyarrow as pa

from bv_search.tasks.window import WindowRows

LENGTHS = [5, 3, 9, 3, 7, 2]


def some_windows() -> pa.Table:
    """As an index has them: `tokens` are those that are stored, here all."""
    rng, rows = np.random.default_rng(0), WindowRows()
    for number, length in enumerate(LENGTHS):
        rows.ids.append(f"r{number}#0")
        rows.rows.append(f"r{number}")
        rows.keys.append(number)
        rows.token_ids.append(rng.integers(5, 60, length).astype(np.int32))
        rows.type_ids.append(np.zeros(length, np.int32))
        rows.labels.append([0.0])
    return rows.table().append_column("tokens", pa.array(LENGTHS, pa.int32()))
