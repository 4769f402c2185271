"""Kinds of heads by their names, and settings by theirs."""

import pytest

from bv_search.errors import HeadError, UnknownName
from bv_search.heads.config import head_from_json


def test_unknown_kinds_and_settings_are_named() -> None:
    with pytest.raises(UnknownName, match="did you mean 'adapter'"):
        head_from_json({"kind": "adaptor"})
    with pytest.raises(HeadError, match="no setting 'sise'"):
        head_from_json({"kind": "adapter", "sise": 3})
    with pytest.raises(HeadError, match=r"bad readout; .* found 'sum'"):
        head_from_json({"kind": "adapter", "readout": "sum"})
    with pytest.raises(HeadError, match=r"bad readout; .* found 'mean'"):
        head_from_json({"kind": "flat-adapter", "readout": "mean"})
    with pytest.raises(HeadError, match="bad size; expected 1 or more; found 0"):
        head_from_json({"kind": "adapter", "size": 0})
    with pytest.raises(HeadError, match="bad shared; expected bool; found 1"):
        head_from_json({"kind": "adapter", "shared": 1})
    with pytest.raises(HeadError, match="bad pooling"):
        head_from_json({"kind": "pooling", "pooling": "mean"})
    for channels in (-1, True, 2.0, "last", [0]):
        with pytest.raises(HeadError, match="bad channels; expected all, or a channel's number from 0 on"):
            head_from_json({"kind": "linear", "channels": channels})
