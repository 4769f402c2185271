"""Adapters are told apart by their names."""

import pytest

from bv_search.errors import HeadError
from bv_search.heads.config import AdapterHead, FlatAdapterHead, PooledAdapterHead, TwoAdaptersHead


def test_every_setting_of_an_adapter_is_in_its_name() -> None:
    names = [
        config.name
        for config in (
            *(
                AdapterHead(size=n, shared=a, skip=b)
                for n in (8, 9)
                for a in (False, True)
                for b in (False, True)
            ),
            *(PooledAdapterHead(size=n, skip=b) for n in (8, 9) for b in (False, True)),
            PooledAdapterHead(size=8, pooling="average"),
            TwoAdaptersHead(size=8),
            FlatAdapterHead(size=8, tokens=16),
            FlatAdapterHead(size=8, tokens=17),
        )
    ]
    assert len(set(names)) == len(names)
    assert names[0] == "adapter 8 not shared"
    assert names[-1] == "adapter 8 shared, 17 tokens flattened"


def test_a_flattened_head_answers_for_windows_by_all_their_tokens() -> None:
    head = FlatAdapterHead()
    assert (head.for_windows, head.readout, head.reads_all_tokens) == (True, "sum", True)
    assert not AdapterHead.for_windows
    with pytest.raises(HeadError, match="bad readout"):
        FlatAdapterHead(readout="first")  # type: ignore[arg-type]
