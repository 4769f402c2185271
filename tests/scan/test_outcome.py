"""What is said of a head that is lost."""

from bv_search.scan.outcome import Diverged


def test_it_is_said_where_and_by_what_a_head_was_lost() -> None:
    assert str(Diverged(trial="a", position=7)) == "diverged: loss not finite at micro-batch 7"
    assert str(Diverged(trial="a", position=9, what="answers")) == (
        "diverged: answers not finite at micro-batch 9"
    )
