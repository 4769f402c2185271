"""A search says when its searcher will not learn."""

import pytest

from bv_search.space.space import parse_space
from bv_search.store.store import Store
from bv_search.tasks.row import Role
from bv_search.tune import session
from bv_search.tune.searchers import SEARCHERS
from bv_search.tune.session import doubts_of_learning, heads_to_hear

SPACE = parse_space(
    {"space": {"head": {"kind": "pooling"}, "learning_rate": {"uniform": [1e-6, 1.0]}}}, "rates"
)


@pytest.mark.parametrize(
    ("searcher", "left", "generation", "doubted"),
    [
        ("hyperopt", 64, 64, True),
        ("hyperopt", 64, 16, False),  # the second generation knows the scores of the first
        ("hyperopt", 20, 64, False),  # so few are mostly drawn at random anyway
        ("random", 64, 64, False),  # there is nothing to learn
    ],
)
def test_a_search_that_draws_all_heads_before_the_first_score_is_told_so(
    searcher: str, left: int, generation: int, doubted: bool
) -> None:
    said = list(doubts_of_learning(SEARCHERS[searcher](SPACE, 0), [], left, generation))
    assert len(said) == doubted
    assert not said or said[0].startswith(f"all {left} heads are drawn before the first has a score")


def test_what_other_runs_told_is_enough_to_learn_from() -> None:
    searcher = SEARCHERS["hyperopt"](SPACE, 0)
    searcher.remember([({"learning_rate": (number + 1) / 16}, 0.5) for number in range(16)])
    assert list(doubts_of_learning(searcher, [], 64, 64)) == []


def test_heads_answer_together_as_far_as_their_answers_have_room(
    class_store: Store, span_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A window of one token has an answer for each class, a window of a passage two for each token."""
    windows, tokens = (
        [split for role in Role for split in store.splits(role)] for store in (class_store, span_store)
    )
    monkeypatch.setattr(session, "MOST_ANSWERS", 3 * 2 * sum(split.windows for split in windows))
    assert heads_to_hear(class_store) == 3
    monkeypatch.setattr(session, "MOST_ANSWERS", 5 * 2 * sum(split.lengths.sum() for split in tokens))
    assert heads_to_hear(span_store) == 5
    monkeypatch.setattr(session, "MOST_ANSWERS", 1)
    assert heads_to_hear(class_store) == 1
