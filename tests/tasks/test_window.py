"""Windows are one table, which carries all that scoring needs."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from bv_search.errors import EncoderError
from bv_search.tasks.passage import cutter
from bv_search.tasks.window import WindowRows


def test_a_slow_tokenizer_is_refused() -> None:
    class Slow:
        is_fast = False
        model_max_length = 512

        def __call__(self, text: Any, text_pair: Any = None, **options: Any) -> Any:
            raise AssertionError

    with pytest.raises(EncoderError, match=r"Slow: the tokenizer has no fast form"):
        cutter(Slow(), 386)


def test_a_passage_is_kept_once_however_many_windows_it_has() -> None:
    passage, count = "x" * 10_000, 50
    few = np.zeros(1, np.int32)
    windows = WindowRows(
        ids=[str(number) for number in range(count)],
        rows=["row"] * count,
        keys=[1] * count,
        token_ids=[few] * count,
        type_ids=[few] * count,
        labels=[[0.0, 0.0]] * count,
        starts=[few] * count,
        ends=[few] * count,
        passages=[passage] * count,
        golds=[[]] * count,
    ).table()
    assert windows["passage"].nbytes < 2 * len(passage)
    together = pa.concat_tables([windows, windows]).combine_chunks()
    assert together["passage"].nbytes < 2 * len(passage)
    assert together["passage"].to_pylist() == [passage] * 2 * count
