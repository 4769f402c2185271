"""Spaces are data: strictly read, and proved before a search begins."""

from pathlib import Path
from typing import Any

import pytest

from bv_search.errors import SpaceError, UnknownName
from bv_search.space.space import find_space, parse_space
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
        ({"seed": {"randint": [0, 2**64]}}, "within ±9,007,199,254,740,992"),
        ({"batch": {"quniform": [16, 64]}}, r"expected \[low, high, step\]"),
        ({"seed": {"choice": []}}, "a list of options"),
        ({"seed": [1, 2]}, "a bare list"),
        ({"rate": 0.1}, "no setting 'rate'"),
        ({"learning_rate": {"logunifrom": [0.1, 1]}}, "did you mean 'loguniform'"),
        ({"head": {"choice": [HEAD, {"kind": "adapter", "sise": 3}]}}, "no setting 'sise'"),
        ({"head": {"kind": "adaptor"}}, "did you mean 'adapter'"),
        ({"batch": {"choice": [16, 20]}}, "a multiple of 16"),
        ({"batch": {"quniform": [8, 64, 16]}}, r"multiples of the step 16; found \[8, 64\]"),
        ({"dropout": {"quniform": [0, 0.25, 0.1]}}, r"multiples of the step 0.1; found \[0, 0.25\]"),
        ({"dropout": {"uniform": [0, 10**400]}}, "bad bounds"),
        ({1: 2}, "mine: bad key; expected a name; found 1"),
        ({"head": {"kind": "pooling", True: 1}}, "bad key; expected a name; found True"),
        ({"head": {}}, "no head named 'None'"),
    ],
)
def test_what_is_wrong_with_a_space_is_one_clear_line(space: dict[str, Any], message: str) -> None:
    with pytest.raises((SpaceError, UnknownName), match=message) as caught:
        parse(space)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("space", "message"),
    [
        ({"passes": {"uniform": [1, 5]}}, "bad passes; .* found 1.0; uniform draws fractions: use randint"),
        ({"passes": {"uniform": [1.5, 5]}}, "bad passes; .* found 1.5; uniform draws fractions: use randint"),
        ({"passes": {"quniform": [1, 5, 0.5]}}, "bad passes; .* quniform draws fractions: use randint"),
        ({"seed": {"loguniform": [1, 1000]}}, "bad seed; .* loguniform draws fractions: use randint"),
        ({"batch": {"loguniform": [16, 512]}}, "bad batch; .* use randint, quniform with a whole step, or"),
        (
            {"head": {"choice": [HEAD, {"kind": "adapter", "size": {"loguniform": [16, 512]}}]}},
            "bad size; expected int; found 16.0; loguniform draws fractions",
        ),
        ({"batch": {"randint": [16, 65]}}, "bad batch; .* found 17; randint draws others too: use quniform"),
        ({"batch": {"quniform": [16, 64, 8]}}, "found 24; quniform draws others too: use quniform with a"),
        ({"dropout": {"uniform": [-0.4, 0.5]}}, r"bad dropout; expected a number .* found -0\.4$"),
        ({"seed": {"randint": [-2, 5]}}, "bad seed; .* found -2$"),
    ],
)
def test_a_space_that_draws_what_no_head_can_take_is_refused_with_what_can(
    space: dict[str, Any], message: str
) -> None:
    with pytest.raises(SpaceError, match=message):
        parse(space)


@pytest.mark.parametrize(
    "space",
    [
        {"passes": {"randint": [1, 5]}},
        {"batch": {"quniform": [16, 64, 16]}},
        {"batch": {"quniform": [16.0, 64.0, 16.0]}},
        {"dropout": {"uniform": [0, 0.5]}},
        {"weight_decay": {"quniform": [0, 0.3, 0.1]}},
        {"head": {"kind": "adapter", "size": {"quniform": [20, 100, 20]}}},
    ],
)
def test_a_space_whose_draws_all_fit_is_taken(space: dict[str, Any]) -> None:
    parse(space)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ({"space": {}}, "no space in it"),
        ({"space": {"head": HEAD}, "start": [3]}, r"expected a list of configs, .* found \[3\]"),
        ({"space": {"head": HEAD}, "start": [{"head": HEAD, 3: 4}]}, "bad key; expected a name; found 3"),
        ({"space": {"head": HEAD}, "start": [{"head": 1}]}, "mine: start 1: a trial without a head"),
        ({"space": {"head": HEAD}, "about": 3}, "about: bad description; expected a text; found 3"),
        ({"space": {"head": HEAD}, 1: 2, None: 3}, "bad key; expected a name; found 1"),
    ],
)
def test_what_is_wrong_with_a_file_is_one_clear_line(source: dict[Any, Any], message: str) -> None:
    with pytest.raises(SpaceError, match=message) as caught:
        parse_space(source, "mine")
    assert "\n" not in str(caught.value)


def test_a_finished_draw_is_found_again_as_older_journals_have_it() -> None:
    space = parse_space({"space": {"head": HEAD, "weight_decay": {"quniform": [0, 0.3, 0.1]}}}, "mine")

    assert space.draws({"head": HEAD, "weight_decay": 0.3}) == {"weight_decay": 0.3}
    assert space.draws({"head": HEAD, "weight_decay": 3 * 0.1}) == {"weight_decay": 0.3}
    with pytest.raises(SpaceError, match="outside the space"):
        space.draws({"head": HEAD, "weight_decay": 0.4})


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
    mine.write_text("about: !!timestamp 2020-13-45")
    with pytest.raises(SpaceError, match="cannot be read; expected YAML"):
        find_space(str(mine))
    (tmp_path / "folder.yaml").mkdir()
    with pytest.raises(SpaceError, match="is no file; expected a file; found a folder"):
        find_space(str(tmp_path / "folder.yaml"))
    with pytest.raises(SpaceError, match=r"cannot be read; found File name too long"):
        find_space("x" * 300 + ".yaml")


def test_a_data_fraction_holds_for_every_head() -> None:
    space = with_data_fraction(find_space("adapters"), 0.25)

    assert all(config["data_fraction"] == 0.25 for config in (*space.start, *space.corners()))
    with pytest.raises(SpaceError, match="has its own data_fraction"):
        with_data_fraction(find_space("data-fraction"), 0.5)


def test_corners_show_every_option_and_bound() -> None:
    configs = list(find_space("adapters").corners())

    assert {config["head"]["kind"] for config in configs} == {"adapter", "linear", "mlp", "pooled-adapter"}
    assert {config["learning_rate"] for config in configs} == {5e-4, 8e-3}
    assert {config["head"].get("size") for config in configs} - {None} == {16, 64, 256}


@pytest.mark.parametrize(("one_token", "batch"), [(False, 32), (True, 256)])
def test_an_automatic_batch_fits_the_store(one_token: bool, batch: int) -> None:
    document: dict[str, Any] = {
        "space": {"head": HEAD, "learning_rate": {"uniform": [0.1, 0.2]}, "batch": "auto"},
        "start": [
            {"head": HEAD, "learning_rate": 0.1, "batch": "auto"},
            {"head": HEAD, "learning_rate": 0.2},
        ],
    }
    document["start"][1]["batch"] = batch  # said outright, it is the same point
    space = parse_space(document, "mine", one_token=one_token)
    assert {config.training.batch for config in space.typed_corners()} == {batch}
    assert [point["batch"] for point in space.start] == [batch, batch]
    assert parse_space(space.document, "mine").document == space.document, "what a run keeps is settled"
