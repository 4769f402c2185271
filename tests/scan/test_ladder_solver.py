"""Rungs that are solved have their best weights at once, in their own names and places."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from threading import Barrier
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load
from threadpoolctl import threadpool_info, threadpool_limits
from torch import Tensor

from bv_search.heads.config import ConstantHead, HeadShape, LinearHead
from bv_search.heads.head import Head
from bv_search.heads.inputs import Standard
from bv_search.scan import ladder_solver as module
from bv_search.scan.batch import widen
from bv_search.scan.ladder import LadderRung, rungs_of
from bv_search.scan.ladder_solver import solve_heads
from bv_search.scan.outcome import Diverged, Final, Start
from bv_search.scan.probe import MOST_VAIN, PENALTIES, Lesson, Probe, fit_probes
from bv_search.scan.scanner import Scanner
from bv_search.scan.score import score_split
from bv_search.scan.segment import TrainingData
from bv_search.scan.state import HeadState
from bv_search.scan.store_view import labels_of
from bv_search.store.layout import BlockLimits
from bv_search.store.store import Store, StoreSplit
from bv_search.tasks.task import Kind
from tests.stores import LAYERS, make_class_store, make_span_store, make_value_store

SMALL = BlockLimits(bytes=1, windows=48)


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Store]:
    place = tmp_path_factory.mktemp("climb")
    return {
        "classes": make_class_store(place / "classes", tokens=12, limits=SMALL),
        "one token": make_class_store(place / "one-token", limits=SMALL),
        "values": make_value_store(place / "values"),
    }


WHERE = pytest.mark.parametrize("where", ["classes", "one token", "values"])


def rungs(scanner: Scanner) -> list[LadderRung]:
    return [rung for rung in rungs_of(scanner.shape) if rung.is_solved]


def solve_ladder(scanner: Scanner) -> dict[str, Final]:
    starts = [Start(trial=rung.trial, config=rung.config) for rung in rungs(scanner)]
    finals = scanner.solve(starts)
    assert [final.trial for final in finals] == [start.trial for start in starts]
    return {final.trial: final for final in finals if isinstance(final, Final)}


def begun(scanner: Scanner) -> tuple[list[Head], TrainingData]:
    """The heads of the ladder and what they learn from."""
    states = [scanner.fresh(Start(trial=rung.trial, config=rung.config)) for rung in rungs(scanner)]
    data = scanner.training_data(states)
    heads = [state.heads(data.standard)[0] for state in states]
    for head in heads:
        head.bias_C.data.zero_()  # heads begin with the constant's
    return heads, data


def solved(scanner: Scanner) -> dict[str, Head]:
    heads, data = begun(scanner)
    solve_heads([[head] for head in heads], data)
    return {rung.trial: head for rung, head in zip(rungs(scanner), heads, strict=True)}


def constant(head: Head) -> Tensor:
    """What its bias says."""
    return head.answer(head.bias_C).detach()


def _standard(shape: HeadShape) -> Standard:
    return Standard.empty(shape.layers, shape.width, has_values=shape.is_value)


def firsts(split: StoreSplit, standard: Standard) -> np.ndarray:
    """x_NLH: the first token of each window, standardised."""
    hidden_LTH = torch.cat([widen(block.hidden_LTH, torch.device("cpu")) for block in split.blocks()], dim=1)
    starts_N = np.cumsum(split.lengths) - split.lengths
    firsts_NLH: np.ndarray = standard.apply_to(hidden_LTH)[:, starts_N].transpose(0, 1).numpy()
    return firsts_NLH


@WHERE
def test_a_final_is_what_its_weights_say_on_both_roles(stores: dict[str, Store], where: str) -> None:
    store = stores[where]
    scanner = Scanner(store.path)
    finals = solve_ladder(scanner)
    assert list(finals) == ["majority", *(f"probe-{n}" for n in range(LAYERS)), "probe-all"]
    for rung in rungs(scanner):
        final = finals[rung.trial]
        head = Head(rung.config.head, final.shape, _standard(final.shape))
        head.load_weights(load(final.weights), where=rung.trial)
        assert final.parameters == head.parameter_count()
        for role, answers in (("select", final.select), ("report", final.report)):
            ids: list[str] = []
            logits: list[np.ndarray] = []
            for split in store.splits(role):
                ids += split.index["id"].to_pylist()
                logits.extend(score_split([head], split)[0])
            assert ids == answers.ids
            np.testing.assert_allclose(logits, answers.logits, rtol=1e-4, atol=1e-5)
    best = finals[{"classes": "probe-1", "one token": "probe-1", "values": "probe-3"}[where]]
    assert best.select.score > finals["majority"].select.score + 0.2
    assert best.select.loss < finals["majority"].select.loss


@WHERE
def test_a_probe_is_the_solvers_on_the_first_tokens_of_its_channels(
    stores: dict[str, Store], where: str
) -> None:
    store = stores[where]
    scanner = Scanner(store.path)
    heads, data = begun(scanner)
    train, select = store.split("train"), store.split("select")
    train_NLH, select_NLH = (firsts(split, data.standard) for split in (train, select))
    solve_heads([[head] for head in heads], data)

    chooser = data.judge
    assert chooser is not None

    def judge(asked_NF: np.ndarray, probes: Sequence[Probe]) -> tuple[float, float]:
        verdict = chooser.weigh(probes[0].answer(asked_NF).astype(np.float32))
        assert verdict is not None
        return verdict.score, verdict.loss

    for head in heads:
        if not isinstance(head.config, LinearHead):
            continue
        here = slice(None) if head.config.channels == "all" else [head.config.channels]
        lesson = Lesson(
            x_NF=train_NLH[:, here].reshape(len(train_NLH), -1),
            labels_N=labels_of(train)[:, 0],
            learned_NK=np.ones((len(train_NLH), 1), np.bool_),
            kind=data.kind,
            outputs=head.shape.outputs,
        )
        asked_NF = select_NLH[:, here].reshape(len(select_NLH), -1)
        (probe,) = fit_probes(lesson, partial(judge, asked_NF))
        assert probe.penalty in PENALTIES
        (dense,) = (parameter for name, parameter in head.named_parameters() if name != "bias_C")
        weights_FC = dense.detach().reshape(-1, head.shape.outputs).numpy()
        np.testing.assert_allclose(weights_FC * head.unit, probe.weights_FC, rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(constant(head).numpy(), probe.bias_C, rtol=1e-4, atol=1e-6)


@WHERE
def test_a_constant_says_how_frequent_each_class_is_or_the_mean(stores: dict[str, Store], where: str) -> None:
    store = stores[where]
    labels_N = labels_of(store.split("train"))[:, 0]
    bias_C = constant(solved(Scanner(store.path))["majority"])
    if store.task.kind is Kind.REGRESSION:
        assert float(bias_C) == pytest.approx(labels_N.mean())
    else:
        shares = np.bincount(labels_N.astype(int), minlength=2) / len(labels_N)
        np.testing.assert_allclose(bias_C.softmax(dim=0).numpy(), shares, rtol=1e-5)


def test_the_constant_of_spans_is_solved_alone(tmp_path: Path) -> None:
    store = make_span_store(tmp_path / "spans")
    scanner = Scanner(store.path)
    assert [rung.trial for rung in rungs(scanner)] == ["majority"]
    (final,) = solve_ladder(scanner).values()
    assert not load(final.weights)["bias_C"].any()
    assert final.parameters == 2
    assert [len(logits) for logits in final.report.logits] == store.split("dev").lengths.tolist()


@WHERE
@pytest.mark.parametrize("limit", ["rows", "bytes"])
def test_of_many_rows_the_first_ones_are_learned_from_and_judged_on(
    stores: dict[str, Store], where: str, limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fewer than select has, too; answers are of all rows."""
    scanner = Scanner(stores[where].path)
    few, all_rows = 40, solved(scanner)["probe-all"].bias_C.detach().clone()
    if limit == "rows":
        monkeypatch.setattr(module, "MOST_ROWS", few)
    else:
        shape = scanner.shape
        monkeypatch.setattr(module, "MOST_BYTES", few * 4 * shape.layers * shape.width + 3)
    taken: list[tuple[int, int]] = []

    def watched(lesson: Lesson, judge: Any, **more: Any) -> list[Probe]:
        taken.append((len(lesson.x_NF), len(lesson.labels_N)))
        return fit_probes(lesson, judge, **more)

    monkeypatch.setattr(module, "fit_probes", watched)
    finals = solve_ladder(scanner)

    assert taken == [(few, few)] * (LAYERS + 1)
    assert not torch.allclose(load(finals["probe-all"].weights)["bias_C"], all_rows)
    assert {len(final.select.logits) for final in finals.values()} == {48}
    assert {len(final.report.logits) for final in finals.values()} == {64}


def test_a_rung_whose_answers_are_no_numbers_is_lost_alone(
    stores: dict[str, Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    scanner = Scanner(stores["one token"].path)

    def spoiled(heads: list[list[Head]], data: TrainingData) -> None:
        heads[0][0].bias_C.data[0] = float("nan")

    monkeypatch.setattr("bv_search.scan.scanner.solve_heads", spoiled)
    config = rungs(scanner)[0].config
    lost, kept = scanner.solve([Start(trial="a", config=config), Start(trial="b", config=config)])
    assert str(lost) == "diverged: answers not finite at micro-batch 0"
    assert isinstance(lost, Diverged)
    assert isinstance(kept, Final)


def test_a_head_on_standard_inputs_starts_where_the_constant_stands(stores: dict[str, Store]) -> None:
    """What it learns is what a constant cannot say."""
    for store in stores.values():
        scanner = Scanner(store.path)
        (same,) = (head for head in solved(scanner).values() if isinstance(head.config, ConstantHead))
        for rung in rungs(scanner):
            fresh: HeadState = scanner.fresh(Start(trial=rung.trial, config=rung.config))
            assert torch.equal(fresh.weights["bias_C"], same.bias_C)


def test_probes_beside_each_other_are_solved_as_alone(
    stores: dict[str, Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    """More threads inside of an operation would round otherwise."""
    inside: list[int] = []

    def watched(lesson: Lesson, judge: Any, **more: Any) -> list[Probe]:
        found = fit_probes(lesson, judge, **more)
        inside.extend(each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas")
        return found

    monkeypatch.setattr(module, "fit_probes", watched)
    with threadpool_limits(2, user_api="blas"):
        solved(Scanner(stores["one token"].path, threads=2))
        after = {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}
    assert set(inside) == {1}
    assert after == {2}


def test_probes_are_solved_on_as_many_threads_as_the_scanner_has(
    stores: dict[str, Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit inside of an operation is none on probes beside each other."""
    meeting, begun_before = Barrier(2), count()

    def watched(lesson: Lesson, judge: Any, **more: Any) -> list[Probe]:
        if next(begun_before) < 2:
            meeting.wait(timeout=30)
        return fit_probes(lesson, judge, **more)

    monkeypatch.setattr(module, "fit_probes", watched)
    with threadpool_limits(2):
        assert set(solved(Scanner(stores["one token"].path, threads=2))) > {"probe-all"}


FOLDS = 3


def fold_ground(store: Store) -> tuple[list[list[Head]], TrainingData, np.ndarray]:
    """Heads of the ladder, what their copies learn from, and the first tokens of all windows, x_NLH."""
    scanner = Scanner(store.path, folds=FOLDS)
    states = [scanner.fresh(Start(trial=rung.trial, config=rung.config)) for rung in rungs(scanner)]
    data = scanner.training_data(states)
    x_NLH = np.concatenate([firsts(store.split(name), data.standard) for name in ("train", "select")])
    if not store.manifest.one_token:  # the rest of train fills no micro-batch
        x_NLH = np.concatenate([x_NLH[:192], x_NLH[200:]])
    return [state.heads(data.standard) for state in states], data, x_NLH


@WHERE
def test_a_constant_of_folds_is_each_copys_own(stores: dict[str, Store], where: str) -> None:
    heads, data, _ = fold_ground(stores[where])
    solve_heads(heads, data)
    assert data.folds is not None
    for copy, head in enumerate(heads[0]):
        labels_N = data.labels_ND[data.folds.of_N != copy, 0]
        bias_C = constant(head)
        if stores[where].task.kind is Kind.REGRESSION:
            assert float(bias_C) == pytest.approx(labels_N.mean())
        else:
            shares = np.bincount(labels_N.astype(int), minlength=2) / len(labels_N)
            np.testing.assert_allclose(bias_C.softmax(dim=0).numpy(), shares, rtol=1e-5)


@WHERE
def test_probes_of_folds_are_solved_for_the_other_folds_and_chosen_by_their_own(
    stores: dict[str, Store], where: str
) -> None:
    """By hand: of every penalty the copies, and what they say out of fold."""
    heads, data, x_NLH = fold_ground(stores[where])
    solve_heads(heads, data)
    assert data.folds is not None
    of_N = data.folds.of_N
    for copies in heads[1:]:
        config = copies[0].config
        assert isinstance(config, LinearHead)
        here = slice(None) if config.channels == "all" else [config.channels]
        x_NF = x_NLH[:, here].reshape(len(x_NLH), -1)
        found: list[tuple[float, float, list[Probe]]] = []
        for number in range(len(PENALTIES)):
            probes = [probe_of(data, x_NF, of_N != copy, number) for copy in range(FOLDS)]
            said = np.stack([probes[copy].answer(x_NF[n]) for n, copy in enumerate(of_N)])
            assert data.judge is not None
            verdict = data.judge.weigh(said)
            assert verdict is not None
            found.append((verdict.score, verdict.loss, probes))
            if len(found) - min(range(len(found)), key=lambda n: found[n][1]) > MOST_VAIN:
                break
        best = max(score for score, _, _ in found)
        among = [probes for score, _, probes in found if score > best - ALIKE]
        assert any(all(map(says, copies, probes)) for probes in among)


ALIKE = 1e-3  # scores of penalties that are compared where they are nearly solved for


def says(head: Head, probe: Probe) -> bool:
    """The head is the probe."""
    (dense,) = (parameter for name, parameter in head.named_parameters() if name != "bias_C")
    found_FC = dense.detach().reshape(probe.weights_FC.shape).numpy() * head.unit
    near = partial(np.allclose, rtol=1e-2, atol=1e-3)
    return near(found_FC, probe.weights_FC) and near(constant(head).numpy(), probe.bias_C)


def probe_of(data: TrainingData, x_NF: np.ndarray, learned_N: np.ndarray, number: int) -> Probe:
    """Solved for one penalty after the other, down to the one of that number."""
    lesson = Lesson(
        x_NF=x_NF[learned_N],
        labels_N=data.labels_ND[learned_N, 0],
        learned_NK=np.ones((learned_N.sum(), 1), np.bool_),
        kind=data.kind,
        outputs=data.rows.split.store.task.outputs,
    )
    later = count()
    (probe,) = fit_probes(lesson, lambda _: (score := next(later), -score), penalties=PENALTIES[: number + 1])
    return probe


@WHERE
def test_a_probe_of_folds_knows_nothing_of_its_own(stores: dict[str, Store], where: str) -> None:
    """Of one penalty: other labels in a fold leave its copy as it is, as near as all are solved."""
    heads, data, _ = fold_ground(stores[where])
    others, changed = (deepcopy(heads) for _ in range(2))
    assert data.folds is not None
    labels_ND = data.labels_ND.copy()
    labels_ND[data.folds.of_N == 1] = 1.0 - labels_ND[data.folds.of_N == 1]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bv_search.scan.ladder_solver.fit_probes", partial(fit_probes, penalties=(10.0,)))
        solve_heads(others, data)
        solve_heads(changed, replace(data, labels_ND=labels_ND))
    for one, other in zip(others, changed, strict=True):
        same = [
            torch.allclose(a.bias_C, b.bias_C, rtol=1e-2, atol=1e-3) for a, b in zip(one, other, strict=True)
        ]
        assert same == [False, True, False]


@WHERE
@pytest.mark.parametrize("limit", ["rows", "features", "answers"])
def test_of_many_rows_folds_take_the_last_with_select_among_them(
    stores: dict[str, Store], where: str, limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    heads, data, x_NLH = fold_ground(stores[where])
    few = 60
    if limit == "rows":
        monkeypatch.setattr(module, "MOST_ROWS", few)
    elif limit == "features":
        monkeypatch.setattr(module, "ANSWER_BYTES", 0)
        monkeypatch.setattr(module, "MOST_BYTES", few * 4 * x_NLH[0].size + 3)
    else:
        said = len(heads[-1]) * stores[where].task.outputs
        monkeypatch.setattr(module, "ANSWER_BYTES", 10_000)
        monkeypatch.setattr(module, "MOST_BYTES", few * 10_000 * said + 3)
    taken: list[Lesson] = []

    def watched(lesson: Lesson, judge: Any, **more: Any) -> list[Probe]:
        taken.append(lesson)
        return fit_probes(lesson, judge, **more)

    monkeypatch.setattr(module, "fit_probes", watched)
    solve_heads(heads[-1:], data)

    assert data.folds is not None
    (lesson,) = taken
    np.testing.assert_allclose(lesson.x_NF, x_NLH[-few:].reshape(few, -1))
    np.testing.assert_array_equal(lesson.labels_N, data.labels_ND[-few:, 0])
    for copy, learned_N in enumerate(lesson.learned_NK.T):
        np.testing.assert_array_equal(learned_N, data.folds.of_N[-few:] != copy)


def test_where_the_encoder_knows_train_probes_of_folds_are_chosen_on_select(tmp_path: Path) -> None:
    store = make_class_store(tmp_path / "store", seen={"train": 200})
    heads, data, _ = fold_ground(store)
    solve_heads(heads, data)
    assert data.judge is not None
    (verdict,) = data.judge.judge(heads[2:3])
    assert verdict is not None
    assert (len(verdict.logits), verdict.score) == (48, 1.0)
