"""A scanner opens rows once, for whatever heads read them."""

from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

from bv_search.scan import scanner as module
from bv_search.scan.batch import WantedStates
from bv_search.scan.outcome import Final, Start
from bv_search.scan.rows import Rows, open_rows
from bv_search.scan.scanner import Scanner
from bv_search.scan.trial import TrialConfig
from bv_search.store.store import Store, StoreSplit
from tests.stores import make_class_store


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return make_class_store(tmp_path_factory.mktemp("scanner") / "store")


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The splits that were, and how many kinds of inputs each time."""
    found: list[str] = []

    def watched(split: StoreSplit, wanted: WantedStates) -> Rows:
        found.append(f"{split.name} for {len(wanted.inputs)}")
        return open_rows(split, wanted)

    monkeypatch.setattr(module, "open_rows", watched)
    return found


def start(trial: str, inputs: str) -> Start:
    config = TrialConfig.from_json({"head": {"kind": "pooling"}, "inputs": inputs, "learning_rate": 0.01})
    return Start(trial=trial, config=config)


def test_rows_that_are_in_memory_once_are_there_for_every_segment(store: Store, opened: list[str]) -> None:
    scanner = Scanner(store.path)
    state: bytes | Start = start("a", "standard")
    for stop in (13, 26, 39):
        (outcome,) = scanner.segment([state], stop, score=["a"])
        state = outcome.state or b""
    scanner.final([state] if isinstance(state, bytes) else [])
    assert opened == ["train for 1", "select for 1", "dev for 1"]


def test_heads_on_inputs_of_both_kinds_share_rows_in_whatever_order_they_come(
    store: Store, opened: list[str]
) -> None:
    scanner = Scanner(store.path)
    for heads in permutations([start("a", "raw"), start("b", "standard"), start("c", "standard")]):
        outcomes = scanner.segment(heads, 13, score=())
        finals = scanner.final([outcome.state or b"" for outcome in outcomes])
        assert [final.trial for final in finals] == [head.trial for head in heads]
    assert sorted(opened) == ["dev for 2", "select for 2", "train for 2"]


def test_finals_do_not_depend_on_who_is_scored_beside_them(store: Store) -> None:
    scanner = Scanner(store.path)
    heads = [start("a", "raw"), start("b", "standard")]
    states = [outcome.state or b"" for outcome in scanner.segment(heads, 13, score=())]
    together = scanner.final(states)
    for state, final in zip(states, together, strict=True):
        (alone,) = Scanner(store.path).final([state])
        assert isinstance(final, Final)
        assert isinstance(alone, Final)
        assert alone.weights == final.weights
        assert (alone.select.score, alone.report.score) == (final.select.score, final.report.score)
        assert alone.select.loss == pytest.approx(final.select.loss, rel=1e-5)


@pytest.mark.parametrize(("unit", "shift"), [(1e-5, 0.0), (1e3, 5e4)])
def test_a_value_is_learned_alike_in_whatever_unit_it_is(unit: float, shift: float, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    hidden_NLH = rng.normal(size=(240, 3, 8)).astype(np.float32)
    values_N = hidden_NLH.reshape(240, -1) @ rng.normal(size=24)

    def learn(name: str, unit: float, shift: float) -> list[tuple[float, float]]:
        scanner = Scanner(Store.from_arrays(tmp_path / name, hidden_NLH, values_N * unit + shift).path)
        config = TrialConfig.from_json({"head": {"kind": "linear", "channels": "all"}, "learning_rate": 0.01})
        (outcome,) = scanner.segment([Start(trial="a", config=config)], 120, score=["a"])
        trained = scanner.final([outcome.state or b""])
        solved = scanner.solve([Start(trial="probe", config=config)])
        found = [final for final in (*trained, *solved) if isinstance(final, Final)]
        return [(final.report.score, final.report.loss / unit**2) for final in found]

    plain, other = learn("plain", 1.0, 0.0), learn("other", unit, shift)
    assert len(plain) == 2
    assert plain[0][0] > 0.5
    np.testing.assert_allclose(other, plain, rtol=0.02)


def test_a_head_on_a_share_of_the_data_knows_no_other_labels(tmp_path: Path) -> None:
    hidden_NLH = np.random.default_rng(0).normal(size=(200, 2, 4)).astype(np.float32)
    store = Store.from_arrays(tmp_path / "store", hidden_NLH, [number % 2 for number in range(200)])
    scanner = Scanner(store.path)
    labels_N = scanner._labels_ND[:16, 0]
    config = TrialConfig.from_json(
        {"head": {"kind": "pooling"}, "learning_rate": 0.01, "data_fraction": 16 / len(scanner._labels_ND)}
    )
    bias_C = scanner.fresh(Start(trial="a", config=config)).weights["bias_C"].numpy()
    logs_C = np.log([(labels_N == label).sum() for label in (0, 1)])
    np.testing.assert_allclose(bias_C, logs_C - logs_C.mean(), rtol=1e-5)
