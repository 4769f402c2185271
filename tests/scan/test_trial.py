"""A trial is what a space writes: a head, what it reads, and how it learns."""

import pytest

from bv_search.errors import SpaceError
from bv_search.scan.trial import TrialConfig


def test_heads_read_standard_states_until_they_have_learned_unless_told_otherwise() -> None:
    plain = TrialConfig.from_json({"head": {"kind": "pooling"}})
    assert (plain.inputs, plain.reads_standard, plain.training.passes) == ("standard", True, "auto")
    raw = TrialConfig.from_json({"head": {"kind": "pooling"}, "inputs": "raw", "passes": 3})
    assert (raw.inputs, raw.reads_standard, raw.training.passes) == ("raw", False, 3)
    for config in (plain, raw):
        assert TrialConfig.from_json(config.to_json()) == config


def test_what_is_no_trial_is_one_clear_line() -> None:
    head = {"kind": "pooling"}
    for value, message in (
        ({}, r"a trial without a head; expected head: \{kind: …\}; found None"),
        ({"head": "pooling"}, "a trial without a head; .* found 'pooling'"),
        ({"head": head, "lr": 0.1}, "no setting 'lr'; expected .*learning_rate"),
        ({"head": head, "inputs": "scaled"}, "bad inputs; expected standard or raw; found 'scaled'"),
    ):
        with pytest.raises(SpaceError, match=message) as caught:
            TrialConfig.from_json(value)
        assert "\n" not in str(caught.value)
