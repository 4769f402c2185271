"""An ensemble.json is believed only where it makes sense."""

from typing import Any

import pytest

from bv_search.errors import RunError
from bv_search.files import decode_at
from bv_search.run.ensemble_file import ENSEMBLE_VERSION, EnsembleFile

MEMBER = {"name": "a", "run": ".", "trial": "a", "weight": 0.5}
VALUE = {
    "method": "greedy",
    "members": [MEMBER, {"name": "encoder", "run": ".", "trial": None, "weight": 2}],
    "score": 0.7,
    "select_score": 0.6,
    "format_version": ENSEMBLE_VERSION,
}


def read(value: dict[str, Any]) -> EnsembleFile:
    return decode_at(EnsembleFile, value, RunError, where="ensemble.json", more=True)


def test_members_come_with_their_weights_and_the_encoder_without_a_trial() -> None:
    found = read({**VALUE, "intervals": "for readers"})
    assert [(member.name, member.trial, member.weight) for member in found.members] == [
        ("a", "a", 0.5),
        ("encoder", None, 2),
    ]
    assert (found.method, found.heads) == ("greedy", None)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"method": "median"}, "method"),
        ({"members": []}, "members; expected a member or more"),
        ({"members": [{**MEMBER, "weight": 0}]}, r"members\[0\].weight"),
        ({"members": [{**MEMBER, "weight": -1.0}]}, r"members\[0\].weight"),
        ({"members": [{**MEMBER, "trial": "../other"}]}, "members"),
        ({"members": [{**MEMBER, "name": ""}]}, "members"),
        ({"heads": -1}, "heads"),
        ({"score": "high"}, "score"),
        ({"format_version": 1}, "format_version"),
    ],
)
def test_what_no_ensemble_says_is_refused_by_its_place(change: dict[str, Any], complaint: str) -> None:
    with pytest.raises(RunError, match=complaint) as caught:
        read(VALUE | change)
    assert "\n" not in str(caught.value)
