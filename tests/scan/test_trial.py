"""A trial is what a space writes: a head, what it reads, and how it learns."""

from bv_search.scan.trial import TrialConfig


def test_heads_read_standard_states_until_they_have_learned_unless_told_otherwise() -> None:
    plain = TrialConfig.from_json({"head": {"kind": "pooling"}})
    assert (plain.inputs, plain.reads_standard, plain.training.passes) == ("standard", True, "auto")
    raw = TrialConfig.from_json({"head": {"kind": "pooling"}, "inputs": "raw", "passes": 3})
    assert (raw.inputs, raw.reads_standard, raw.training.passes) == ("raw", False, 3)
    for config in (plain, raw):
        assert TrialConfig.from_json(config.to_json()) == config
