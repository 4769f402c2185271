"""The small world is told without doubt: no two things of it are called the same."""

from itertools import combinations

import pytest

from bv_search.demo.world import KINDS, PEOPLE, FactKind


def test_no_two_people_have_one_name() -> None:
    assert len(set(PEOPLE)) == len(PEOPLE) > 40


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_what_is_told_names_who_and_what_and_what_is_asked_who_alone(kind: FactKind) -> None:
    assert all(text.count("{who}") == text.count("{what}") == 1 for text in kind.told)
    assert all(text.count("{who}") == 1 and "{what}" not in text for text in kind.asked)
    assert all(text.endswith("?") for text in kind.asked)


def test_values_of_one_kind_are_none_of_another() -> None:
    values = {name: {value for part in kind.parts for value in part} for name, kind in KINDS.items()}
    for (one, ours), (other, theirs) in combinations(values.items(), 2):
        assert not ours & theirs, (one, other)
    assert not set(PEOPLE) & set().union(*values.values())


def test_every_question_asks_for_one_kind() -> None:
    asked = [text for kind in KINDS.values() for text in kind.asked]
    assert len(set(asked)) == len(asked)
