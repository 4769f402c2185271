"""Members are chosen by the loss, from those that complement each other."""

import numpy as np
import pyarrow as pa

from bv_search.ensemble.selection import Panel, choose, sizes
from bv_search.model.combine import Method
from bv_search.scan.store_view import role_index
from bv_search.tasks.registry import find_task
from bv_search.tasks.row import Role
from tests.model.small_run import Small, gold_logits


def test_every_head_that_is_asked_for_is_considered(small: Small) -> None:
    """Of 18 heads the last one alone complements the first."""
    index = role_index(small.store, Role.SELECT)
    right, none = (gold_logits(small, Role.SELECT, share, 0) for share in (1.0, 0.0))
    half = len(right) // 2
    first, last = right[:half] + none[half:], none[:half] + right[half:]
    panel = Panel.of(small.store.task, index, [first, *[none] * 16, last], encoder=False)
    for method in (Method.MAX, Method.MEAN, Method.GREEDY):
        considered = [choice for choice in choose(panel, method) if 17 in dict(choice.members)]
        assert max(choice.score for choice in considered) > panel.alone[0]
    assert dict(choose(panel)[0].members).keys() == {0, 17}


def test_the_sizes_of_a_maximum_end_with_all_heads() -> None:
    assert sizes(1) == [1]
    assert sizes(16) == [1, 2, 3, 4, 6, 8, 12, 16]
    assert sizes(30) == [1, 2, 3, 4, 6, 8, 12, 16, 24, 30]


def test_where_nothing_helps_the_best_single_model_is_the_answer(small: Small) -> None:
    index = role_index(small.store, Role.SELECT)
    good, bad = (gold_logits(small, Role.SELECT, share, 0) for share in (1.0, 0.0))
    task = small.store.task
    best = choose(Panel.of(task, index, [good, bad, bad], encoder=True))[0]
    assert best.score == 1.0
    assert [number for number, _ in best.members] == [0]
    assert best.method is Method.SINGLE


def test_a_greedy_choice_goes_down_with_the_loss_not_up_with_the_score() -> None:
    """Two of a mind that is right by a hair, and one that is sure where they are not."""
    task, labels_N = find_task("mrpc"), np.arange(100) % 2
    index = pa.Table.from_pylist(
        [{"row": str(n), "group": n, "label": [float(label)]} for n, label in enumerate(labels_N)]
    )
    sure = np.where(np.arange(100) < 90, 4.0, -0.1)
    shy = np.where(np.arange(100) < 95, 0.1, -0.1)
    logits = [np.stack([-each, each], axis=1) * (2 * labels_N - 1)[:, None] for each in (shy, sure)]
    panel = Panel.of(task, index, [list(each) for each in logits], encoder=False)
    best, *others = choose(panel)
    assert dict(best.members)[1] > dict(best.members)[0]
    assert others[-1].method is Method.SINGLE
    assert others[-1].members == ((0, 1.0),)
    assert best.score < others[-1].score
