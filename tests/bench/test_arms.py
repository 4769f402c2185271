"""Ways to do the same take turns, and are compared within rounds."""

from bv_search.bench.arms import Measured, ratio, take_turns
from bv_search.command import Progress


def test_arms_take_turns_and_the_warm_round_does_not_count() -> None:
    turns: list[str] = []

    def arm(name: str) -> float:
        turns.append(name)
        return 10.0

    arms = {"a": lambda: arm("a"), "b": lambda: arm("b")}
    measured = take_turns(arms, unit="tokens", rounds=2, progress=Progress(quiet=True))
    assert turns == ["a", "b"] * 3
    assert len(measured["a"].rounds) == 2
    assert measured["a"].to_json()["tokens"] == 10


def test_a_ratio_is_taken_within_rounds() -> None:
    measured = {
        "fast": Measured(unit="bytes", rounds=(20.0, 2.0, 200.0), amount=1.0),
        "slow": Measured(unit="bytes", rounds=(10.0, 1.0, 50.0), amount=1.0),
    }
    assert ratio(measured, "fast", "slow") == 2.0
