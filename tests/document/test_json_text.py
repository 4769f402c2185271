"""What JSON's grammar leaves open is refused."""

import pytest

from bv_search.document import Unreadable, load_json


def test_what_json_means_is_read() -> None:
    text = '{"a": [1, 2.5, null, true, "\\ud83d\\ude00"], "b": {"a": -3e2}}'
    assert load_json(text) == {"a": [1, 2.5, None, True, "😀"], "b": {"a": -300.0}}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"a": 1, "b": 2, "a": 3}', "the key 'a' twice in one object"),
        ('[{"b": {"a": 1, "a": 1}}]', "the key 'a' twice in one object"),
        ('{"a": NaN}', "NaN, which is no number of JSON"),
        ("[-Infinity]", "-Infinity, which is no number of JSON"),
        ("[1e400]", "1e400, which is beyond all numbers"),
        ("9" * 5000, "a number of 5000 digits"),
        ("[" * 101 + "]" * 101, "more than 100 levels of brackets"),
        ("[" * 100_000, "more than 100 levels of brackets"),
        ('{"a":' * 101 + "1" + "}" * 101, "more than 100 levels of brackets"),
        ('["\\ud800"]', "half a character, '\\ud800'"),
        ('{"\\udc00": 1}', "half a character, '\\udc00'"),
        ("[1,\n2", "Expecting ',' delimiter at line 2"),
    ],
)
def test_what_could_be_read_in_several_ways_or_not_at_all_is_refused(text: str, found: str) -> None:
    with pytest.raises(Unreadable) as caught:
        load_json(text)
    assert caught.value.found == found


def test_as_many_levels_as_are_allowed_are_read() -> None:
    value = load_json("[" * 100 + "]" * 100)
    depth = 0
    while value:
        value, depth = value[0], depth + 1
    assert depth == 99
