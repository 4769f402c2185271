"""A scanner opens rows once, for whatever heads read them."""

from itertools import permutations

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
