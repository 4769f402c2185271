"""The plainest heads, by name and by channel."""

from typing import Any

import pytest

from bv_search.errors import HeadError
from bv_search.heads.config import ConstantHead, LinearHead, MlpHead


def test_a_linear_head_names_its_channel() -> None:
    assert LinearHead().name == "linear on all channels"
    assert [LinearHead(channels=n).name for n in (0, 7)] == ["linear on channel 0", "linear on channel 7"]
    assert MlpHead(size=8, readout="mean").name == "mlp 8, mean of tokens"


@pytest.mark.parametrize("channels", [-1, True, 1.0, "first", None])
def test_a_channel_is_a_number_from_0_on(channels: Any) -> None:
    with pytest.raises(HeadError, match="linear head: bad channels; expected all, or a channel's number"):
        LinearHead(channels=channels)


def test_a_constant_reads_no_token() -> None:
    assert not ConstantHead().reads_all_tokens
    with pytest.raises(HeadError, match="constant head: bad readout"):
        ConstantHead(readout="mean")  # type: ignore[arg-type]
