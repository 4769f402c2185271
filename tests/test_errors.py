import inspect
import pickle
import threading
from pathlib import Path

import pytest

from bv_search import errors
from bv_search.errors import BvError, DataError, OutputError, StoreError, UnknownName, UserError

ALL = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, BvError)]
USER = [kind for kind in ALL if issubclass(kind, UserError)]


def test_the_docstring_draws_every_error() -> None:
    assert errors.__doc__ is not None
    for kind in ALL:
        assert kind.__name__ in errors.__doc__


def test_a_message_says_what_where_expected_found_and_what_to_do_on_one_line() -> None:
    error = StoreError(
        "digest differs",
        where="blocks/00007.npy",
        expected="xxh3:9f30",
        found="xxh3:ab12\nand more",
        do="run `bv-search store verify`",
    )
    assert str(error) == (
        "blocks/00007.npy: digest differs; expected xxh3:9f30; found xxh3:ab12 and more; "
        "run `bv-search store verify`"
    )


def test_what_was_found_is_told_even_when_it_is_empty_or_zero() -> None:
    assert str(DataError("no rows", found=0)) == "no rows; found 0"
    assert str(DataError("no name", found="")) == "no name; found"


def test_an_unknown_name_comes_with_the_nearest_one_and_the_list() -> None:
    line = str(UnknownName("task", "squad", ["squad2-span", "rte"]))
    assert "no task named 'squad'" in line
    assert "rte, squad2-span" in line
    assert "did you mean 'squad2-span'?" in line


def test_a_name_like_no_other_gets_no_guess() -> None:
    assert "did you mean" not in str(UnknownName("task", "zzzz", ["squad2-span", "rte"]))


@pytest.mark.parametrize("kind", USER, ids=lambda kind: kind.__name__)
def test_the_users_input_ends_with_status_2(kind: type[UserError]) -> None:
    assert kind.exit_status == 2


def test_our_failure_ends_with_status_1() -> None:
    assert BvError("a bug").exit_status == 1


@pytest.mark.parametrize(
    "error",
    [
        StoreError("is damaged", where="manifest.json", expected="JSON", found="nothing", do="extract again"),
        UnknownName("space", "adapter", ["adapters"]),
    ],
    ids=["keyword arguments", "positional arguments"],
)
def test_errors_cross_process_borders_whole(error: BvError) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert copy.exit_status == error.exit_status
    assert copy.__dict__ == error.__dict__


def test_an_error_that_names_what_cannot_be_pickled_crosses_as_its_text() -> None:
    error = OutputError("cannot be reached", where=Path("s3"), found=OSError(threading.Lock()))
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is OutputError
    assert str(copy) == str(error)


def test_a_message_is_one_short_line_whatever_stands_in_it() -> None:
    error = DataError(
        "is damaged", where="/a" * 5000, expected="x" * 10**6, found="\x1b[31m\n\ud800\u202e" * 100
    )
    line = str(error)
    assert len(line) <= 470
    assert line.isprintable()
    assert line.encode()
    assert line.startswith("/a/a")
    assert "\\x1b[31m" in line


def test_a_short_message_is_left_as_it_is() -> None:
    error = DataError("is damaged", where="é/ü", expected="…", found="'×'", do="do it")
    assert str(error) == "é/ü: is damaged; expected …; found '×'; do it"
