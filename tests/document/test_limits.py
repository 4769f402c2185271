"""What is wrong with a text is said with its line, where that is known."""

from bv_search.document.limits import Unreadable


def test_a_line_is_said_where_it_is_known() -> None:
    assert Unreadable("Expecting value").found == "Expecting value"
    assert Unreadable("Expecting value", line=3, column=7, position=40).found == "Expecting value at line 3"


def test_it_is_what_it_found() -> None:
    error = Unreadable("Expecting value", line=3, column=7, position=40)
    assert (str(error), error.line, error.column, error.position) == ("Expecting value", 3, 7, 40)
