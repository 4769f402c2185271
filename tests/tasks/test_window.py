"""Windows are one table, which carries all that scoring needs."""

from typing import Any

import pytest

from bv_search.errors import EncoderError
from bv_search.tasks.passage import cutter


def test_a_slow_tokenizer_is_refused() -> None:
    class Slow:
        is_fast = False
        model_max_length = 512

        def __call__(self, text: Any, text_pair: Any = None, **options: Any) -> Any:
            raise AssertionError

    with pytest.raises(EncoderError, match=r"Slow: the tokenizer has no fast form"):
        cutter(Slow(), 386)
