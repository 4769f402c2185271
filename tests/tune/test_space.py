"""Spaces are data: strictly read, and proved before a search begins."""

from pathlib import Path
from typing import Any

import pytest

from bv_search.errors import SpaceError, UnknownName
from bv_search.tune.space import parse_space
from bv_search.tune.space_file import find_space
from bv_search.tune.study import with_data_fraction

HEAD = {"kind": "pooling"}


def parse(space: dict[str, Any], **more: Any) -> None:
    parse_space({"space": {"head": HEAD, **space}, **more}, "mine")


@pytest.mark.parametrize(
    ("space", "message"),
    [
        ({"learning_rate": {"loguniform": [0.1]}}, r"expected \[low, high\]; found \[0.1\]"),
        ({"learning_rate": {"loguniform": [0.1, 0.01]}}, "low below high"),
        ({"learning_rate": {"loguniform": [0, 0.01]}}, "low above 0"),
        ({"learning_rate": {"uniform": ["a", "b"]}}, "bad bounds"),
        ({"seed": {"randint": [0.5, 3]}}, "whole numbers"),
        ({"batch": {"quniform": [16, 64]}}, r"expected \[low, high, step\]"),
        ({"seed": {"choice": []}}, "a list of options"),
        ({"seed": [1, 2]}, "a bare list"),
        ({"rate": 0.1}, "no setting 'rate'"),
        ({"learning_rate": {"logunifrom": [0.1, 1]}}, "did you mean 'loguniform'"),
        ({"head": {"choice": [HEAD, {"kind": "adapter", "sise": 3}]}}, "no setting 'sise'"),
        ({"head": {"kind": "adaptor"}}, "did you mean 'adapter'"),
        ({"batch": {"choice": [16, 20]}}, "a multiple of 16"),
    ],
)
def test_what_is_wrong_with_a_space_is_one_clear_line(space: dict[str, Any], message: str) -> None:
    with pytest.raises((SpaceError, UnknownName), match=message) as caught:
        parse(space)
    assert "\n" not in str(caught.value)


def test_unknown_keys_and_bad_starting_points_are_refused() -> None:
    with pytest.raises(SpaceError, match="no key 'spaces'"):
        parse({}, spaces=1)
    with pytest.raises(SpaceError, match="a starting point outside the space"):
        parse({"learning_rate": {"uniform": [0.1, 0.2]}}, start=[{"head": HEAD, "learning_rate": 0.5}])


def test_a_space_is_found_by_name_or_by_file(tmp_path: Path) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text("space: {head: {kind: pooling}}\n")

    assert find_space(str(mine)).name == "mine"
    assert find_space("adapters").name == "adapters"
    with pytest.raises(UnknownName, match="did you mean 'adapters'"):
        find_space("adapter")
    with pytest.raises(SpaceError, match="does not exist"):
        find_space(str(tmp_path / "other.yaml"))
    mine.write_text("space: {head: ]")
    with pytest.raises(SpaceError, match="cannot be read; expected YAML"):
        find_space(str(mine))


def test_a_data_fraction_holds_for_every_head() -> None:
    space = with_data_fraction(find_space("adapters"), 0.25)

    assert all(config["data_fraction"] == 0.25 for config in (*space.start, *space.corners()))
    with pytest.raises(SpaceError, match="has its own data_fraction"):
        with_data_fraction(find_space("data-fraction"), 0.5)


def test_corners_show_every_option_and_bound() -> None:
    configs = list(find_space("adapters").corners())

    assert {config["head"]["kind"] for config in configs} == {"adapter", "pooled-adapter"}
    assert {config["learning_rate"] for config in configs} == {1e-4, 1e-2}
    assert {config["head"]["size"] for config in configs} == {16, 32, 64, 128, 256, 386}
