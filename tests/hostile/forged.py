"""Documents near sound ones: some of their values are gone, doubled, renamed, or something else."""

import copy
from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

Json = Any

ODD: list[Json] = [
    *("", " ", "\0", "..", "../x", "a/b", "nan", "-1", "é", "\u2028", "x" * 600),
    *(None, True, False, 0, -1, 1, 2**31, 2**63, -(2**64), 10**30, 0.5, -0.0, 1e308, 1e-320),
    *([], {}, [[]], {"": {}}, [None], {"a": 1}),
]
values = st.recursive(
    st.sampled_from(ODD)
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@st.composite
def near(draw: st.DrawFn, documents: Sequence[Json], words: Sequence[str]) -> Json:
    """One of these with up to three changes; `words` are keys and values that mean something elsewhere."""
    document = [
        copy.deepcopy(draw(st.sampled_from(documents)))
    ]  # in a list, so that all of it can be changed
    for _ in range(draw(st.integers(1, 3))):
        _change(draw, *_place(draw, document), values | st.sampled_from(words))
    return document[0]


def _place(draw: st.DrawFn, document: list[Json]) -> tuple[Any, Any]:
    """Somewhere in it: what holds a value, and by which key."""
    holder: Any = document
    key: Any = 0
    while isinstance(holder[key], dict | list) and holder[key] and draw(st.integers(0, 4)):
        holder = holder[key]
        key = draw(st.sampled_from(list(holder) if isinstance(holder, dict) else range(len(holder))))
    return holder, key


def _change(draw: st.DrawFn, holder: Any, key: Any, others: st.SearchStrategy[Json]) -> None:
    inside = holder[key]
    others = others.map(copy.deepcopy)  # what is drawn may be changed in its turn
    how = draw(st.sampled_from(["replace", "replace", "drop", "add", "rename", "repeat"]))
    if how == "add" and isinstance(inside, dict):
        inside[draw(st.text(max_size=8) | others.filter(lambda value: isinstance(value, str)))] = draw(others)
    elif how == "add" and isinstance(inside, list):
        inside.append(draw(others))
    elif how == "rename" and isinstance(holder, dict):
        holder[draw(st.text(max_size=8))] = holder.pop(key)
    elif how == "repeat" and isinstance(inside, list):
        inside *= 2
    elif how == "drop" and isinstance(holder, dict):
        del holder[key]
    else:
        holder[key] = draw(others)
