import pytest

from bv_search.errors import UnknownName, UserError
from bv_search.extract.config import ExtractConfig, read_layers, read_limits
from bv_search.store.layout import MICRO_BATCH, BlockLimits
from bv_search.words import WrongWord


def config(**settings: object) -> ExtractConfig:
    return ExtractConfig(task="mrpc", encoder="e", out="s", **settings)  # type: ignore[arg-type]


def test_layers_are_all_or_some() -> None:
    assert read_layers("all") is None
    assert read_layers("0,6,12") == (0, 6, 12)
    with pytest.raises(WrongWord, match="expected all, or numbers as in 0,6,12; found 'some'"):
        read_layers("some")


def test_a_block_is_closed_at_a_size_however_few_its_windows() -> None:
    assert read_limits("2MB") == BlockLimits(bytes=2_000_000, windows=MICRO_BATCH)
    with pytest.raises(WrongWord, match="expected a size such as 512MB or 2GB; found '2000000'"):
        read_limits("2000000")


@pytest.mark.parametrize("field", ["format", "dtype", "tokens", "precision"])
def test_a_choice_that_is_none_is_refused(field: str) -> None:
    with pytest.raises(UnknownName, match=f"no {field} named 'other'"):
        config(**{field: "other"})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"workers": -1}, "--workers is too small"),
        ({"threads": 10**6}, "--threads is too large"),
        ({"layers": (1, 1)}, "--layers is wrong"),
    ],
)
def test_settings_that_cannot_be_are_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        config(**change)
