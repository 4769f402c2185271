"""YAML is counted before it is built."""

import pytest

from bv_search.document import Unreadable, load_yaml
from bv_search.document.limits import NODES, YAML_BYTES


def test_what_yaml_means_is_read() -> None:
    text = "a: &x [1, 0x10, 2.5, ~, yes]\nb: *x\nc: {d: 2020-11-05, e: 'no'}"
    shared = [1, 16, 2.5, None, True]
    assert load_yaml(text.encode()) == {"a": shared, "b": shared, "c": {"d": "2020-11-05", "e": "no"}}


def test_words_are_no_truth_values_where_columns_are_meant() -> None:
    assert load_yaml(b"[yes, no, 1, on]", words=True) == ["yes", "no", 1, "on"]


def laughs(levels: int) -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, levels)]
    return "\n".join(lines)


def test_aliases_count_as_what_they_stand_for() -> None:
    assert len(load_yaml(laughs(3).encode())) == 3
    with pytest.raises(Unreadable, match="aliases counted as what they stand for"):
        load_yaml(laughs(9).encode())


def test_as_many_values_as_are_allowed_are_read() -> None:
    assert len(load_yaml(f"[{'a, ' * (NODES - 1)}]".encode())) == NODES - 1
    with pytest.raises(Unreadable, match="more than 20,000 values"):
        load_yaml(f"[{'a, ' * NODES}]".encode())


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a: 1\nb: {c: 1, d: 2, c: 3}", "the key 'c' twice at line 2"),
        ("a: &x\n  - *x", "&x, which holds itself at line 2"),
        ("a: *x", "found undefined alias at line 1"),
        ("[" * 101 + "]" * 101, "more than 100 levels at line 1"),
        (f"a: 0x{'f' * 5000}", "a number of 5002 digits at line 1"),
        ("a: !!python/name:os.system", "the tag tag:yaml.org,2002:python/name:os.system at line 1"),
        ("a: !!binary aGk=", "the tag tag:yaml.org,2002:binary at line 1"),
        ("a\n---\nb", "but found another document at line 2"),
        ("? [a]\n: 1", "found unhashable key at line 1"),
    ],
)
def test_what_is_beyond_its_limits_is_refused(text: str, found: str) -> None:
    with pytest.raises(Unreadable) as caught:
        load_yaml(text.encode())
    assert caught.value.found == found


def test_a_large_text_and_one_that_is_none_are_refused_unread() -> None:
    with pytest.raises(Unreadable, match="at most 1,048,576 are read"):
        load_yaml(b" " * (YAML_BYTES + 1))
    with pytest.raises(Unreadable, match="byte 0xff at position 3, no UTF-8"):
        load_yaml(b"a: \xff")
