"""A judge's verdict is the task's score and the mean loss over windows, for each head and its copies."""

from pathlib import Path

import numpy as np
import pytest
import torch

from bv_search.heads.config import AdapterHead, PoolingHead
from bv_search.heads.head import Head
from bv_search.heads.inputs import Standard
from bv_search.scan import judge as module
from bv_search.scan.folds import Folds
from bv_search.scan.judge import FoldJudge, Judge, RoleJudge
from bv_search.scan.loss import LOSSES
from bv_search.scan.rows import open_rows
from bv_search.scan.score import score_heads, score_split
from bv_search.scan.store_view import head_shape, labels_of, learned_split, role_index
from bv_search.store.store import Store
from bv_search.tasks.row import Role
from bv_search.tasks.votes import mean_logits
from bv_search.tasks.window import SCORING
from tests.stores import make_class_store, make_span_store

CPU = torch.device("cpu")


@pytest.fixture(scope="module", params=["spans", "classes", "one token"])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Store:
    place = tmp_path_factory.mktemp("judge") / "store"
    if request.param == "spans":
        return make_span_store(place, windows=16)
    more = {"dev2": ("report", 21)}
    return make_class_store(place, windows=16, tokens=12 if request.param == "classes" else 1, more=more)


def heads_of(store: Store) -> list[Head]:
    shape = head_shape(store)
    standard = Standard.of(store.statistics.mean_LH, store.statistics.scale_LH)
    return [
        Head(PoolingHead(), shape, standard).initialise(0),
        Head(AdapterHead(size=3), shape).initialise(1),
        Head(AdapterHead(size=3), shape, standard).initialise(2),
    ]


def judge_of(store: Store, role: Role, heads: list[Head]) -> Judge:
    inputs = [None, *{head.inputs for head in heads if head.inputs is not None}]
    return RoleJudge(store, role, [open_rows(split, inputs, CPU) for split in store.splits(role)])


@pytest.mark.parametrize("role", [Role.SELECT, Role.REPORT])
def test_a_verdict_is_what_the_task_and_the_loss_say_of_a_heads_answers(store: Store, role: Role) -> None:
    """Of all splits of a role, one after the other."""
    heads = heads_of(store)
    judge = judge_of(store, role, heads)
    loss = LOSSES[store.task.kind]

    for number, verdict in enumerate(judge.judge([[head] for head in heads])):
        logits: list[np.ndarray] = []
        losses: list[float] = []
        for split in store.splits(role):
            (own,) = score_split([heads[number]], split)
            logits.extend(own)
            for answer, labels_D in zip(own, labels_of(split), strict=True):
                rows = torch.from_numpy(np.atleast_2d(answer))
                lengths_1 = torch.tensor([len(rows)])
                losses.append(float(loss(rows[None], lengths_1, torch.from_numpy(labels_D)[None], None)))
        expected = store.task.evaluate(role_index(store, role), logits)
        assert verdict is not None
        assert (verdict.score, verdict.evaluation.metrics) == (expected.score, expected.metrics)
        assert verdict.loss == pytest.approx(np.mean(losses), rel=1e-5)
        assert len(verdict.logits) == sum(split.windows for split in store.splits(role))
        for one, other in zip(verdict.logits, logits, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def test_windows_are_added_up_in_pieces(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    heads = heads_of(store)
    judge = judge_of(store, Role.SELECT, heads)
    whole = judge.judge([[head] for head in heads])
    monkeypatch.setattr(module, "TOGETHER", 7)
    for one, other in zip(whole, judge.judge([[head] for head in heads]), strict=True):
        assert one is not None
        assert other is not None
        assert one.loss == pytest.approx(other.loss, rel=1e-5)


def test_a_head_whose_answers_are_no_numbers_has_no_verdict(store: Store) -> None:
    heads = heads_of(store)
    heads[1].bias_C.data[0] = float("nan")
    verdicts = judge_of(store, Role.SELECT, heads).judge([[head] for head in heads])
    assert [verdict is None for verdict in verdicts] == [False, True, False]


def test_nobody_is_judged_for_nothing(store: Store) -> None:
    assert RoleJudge(store, Role.SELECT, []).judge([]) == []


def test_a_verdict_on_answers_from_elsewhere_is_the_same(store: Store) -> None:
    heads = heads_of(store)
    judge = judge_of(store, Role.SELECT, heads)
    (judged, *_) = judge.judge([[head] for head in heads])
    assert judged is not None
    weighed = judge.weigh(judged.logits)
    assert weighed is not None
    assert (weighed.score, weighed.loss) == (judged.score, judged.loss)


def test_answers_to_the_first_windows_can_be_weighed(tmp_path: Path) -> None:
    """As those of probes are, where a role has more windows than they take."""
    store = make_class_store(tmp_path / "store", windows=16)
    judge = RoleJudge(store, Role.SELECT, [])
    (split,) = store.splits(Role.SELECT)
    logits = np.zeros((30, 2), np.float32)
    logits[np.arange(30), labels_of(split)[:30, 0].astype(int)] = 9.0
    verdict = judge.weigh(logits)
    assert verdict is not None
    assert (verdict.score, len(verdict.evaluation.rows)) == (1.0, 30)


def test_labels_and_answers_of_a_role_stand_in_one_order(tmp_path: Path) -> None:
    """A head that says the label of every row is right everywhere, on all splits of a role."""
    store = make_class_store(tmp_path / "store", windows=16, more={"dev2": ("report", 21)})
    labels = np.concatenate([labels_of(split) for split in store.splits(Role.REPORT)])[:, 0]
    logits = np.where(labels[:, None] == np.arange(2), 20.0, -20.0).astype(np.float32)
    verdict = RoleJudge(store, Role.REPORT, []).weigh(logits)
    assert verdict is not None
    assert verdict.score == 1.0
    assert verdict.loss == pytest.approx(0.0, abs=1e-6)


def test_copies_of_a_head_answer_a_role_by_their_mean(store: Store) -> None:
    heads = heads_of(store)
    judge = judge_of(store, Role.REPORT, heads)
    alone, together = judge.judge([heads[:1], heads])
    verdicts = judge.judge([[head] for head in heads])
    assert alone is not None
    assert together is not None
    assert verdicts[0] is not None
    np.testing.assert_allclose(alone.loss, verdicts[0].loss, rtol=1e-5)
    each = [verdict.logits for verdict in verdicts if verdict is not None]
    for one, other in zip(together.logits, mean_logits(each, store.task.kind), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("broken", [float("nan"), float("-inf")])
def test_a_mean_hides_no_answers_that_are_no_numbers(store: Store, broken: float) -> None:
    """The probability of a logit that is infinite is a number."""
    heads = heads_of(store)
    heads[1].bias_C.data[0] = broken
    verdicts = judge_of(store, Role.REPORT, heads).judge([heads[:1], heads])
    assert [verdict is None for verdict in verdicts] == [False, True]


def fold_judge_of(store: Store, heads: list[Head]) -> FoldJudge:
    inputs = [None, *{head.inputs for head in heads if head.inputs is not None}]
    rows = open_rows(learned_split(store, folds=len(heads)), inputs, CPU)
    return FoldJudge(rows, Folds.of(store, len(heads)))


def test_a_judge_of_folds_weighs_what_each_copy_says_of_its_own(store: Store) -> None:
    """By hand: of every window, the answer of the copy that has not learned from it."""
    heads, folds = heads_of(store), Folds.of(store, 3)
    rows = open_rows(learned_split(store, folds=3), list({head.inputs for head in heads}), CPU)
    each, labels_ND = score_heads(heads, rows), torch.from_numpy(labels_of(rows.split))
    logits = [each[folds.of_N[window]][window] for window in range(rows.split.windows)]
    loss = LOSSES[store.task.kind]
    losses = [
        float(loss(torch.from_numpy(own)[None], torch.tensor([len(own)]), labels_ND[n : n + 1], None))
        for n, own in enumerate(map(np.atleast_2d, logits))
    ]
    expected = store.task.evaluate(rows.split.index_columns(SCORING), logits)

    (verdict,) = fold_judge_of(store, heads).judge([heads])

    assert verdict is not None
    assert (verdict.score, verdict.evaluation.metrics) == (expected.score, expected.metrics)
    assert verdict.loss == pytest.approx(np.mean(losses), rel=1e-5)


def test_a_head_with_a_copy_that_says_no_numbers_has_no_verdict(store: Store) -> None:
    heads, broken = heads_of(store), heads_of(store)
    broken[2].bias_C.data[0] = float("nan")
    verdicts = fold_judge_of(store, [*heads[:2], *broken[2:]]).judge([heads, broken])
    assert [verdict is None for verdict in verdicts] == [False, True]


def test_rows_that_the_encoder_knows_are_not_weighed(tmp_path: Path) -> None:
    store = make_class_store(tmp_path / "store", windows=64, seen={"train": 40})
    heads = heads_of(store)
    (verdict,) = fold_judge_of(store, heads).judge([heads])
    assert verdict is not None
    assert verdict.evaluation.rows == tuple(f"train-{n}" for n in range(40, 64)) + tuple(
        f"select-{n}" for n in range(48)
    )
