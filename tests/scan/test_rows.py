"""Rows: in which order a scan goes through them, whatever they come from."""

from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from bv_search.heads.inputs import Inputs, Standard
from bv_search.scan import rows as module
from bv_search.scan.batch import Batch, WantedStates, widen
from bv_search.scan.order import rows_at, shuffled
from bv_search.scan.rows import Rows, RowsInMemory, RowsOfBlocks, open_rows
from bv_search.store.block import Part
from bv_search.store.layout import BlockLimits
from bv_search.store.store import Store, StoreSplit
from tests.stores import LAYERS, WIDTH, make_class_store

CPU = torch.device("cpu")
ROWS, LENGTH = 200, 13  # windows and micro-batches of a pass


@pytest.fixture(scope="module", params=["float16", "bfloat16"])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Store:
    """One token a window, in blocks of 48."""
    place = tmp_path_factory.mktemp("rows") / "store"
    limits = BlockLimits(bytes=1, windows=48)
    store = make_class_store(place, windows=ROWS, limits=limits, dtype=request.param, seed=3)
    assert store.split("train").block_windows == (48, 48, 48, 48, 8)
    return store


@pytest.fixture(params=["in memory", "out of blocks"])
def fitting(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether the widened rows fit into memory."""
    if request.param == "out of blocks":
        monkeypatch.setattr(module, "SHARE", 0.0)


def rows_of(store: Store, *inputs: Inputs) -> Rows:
    return open_rows(store.split("train"), WantedStates(inputs=inputs or (None,), device=CPU))


def standard_of(store: Store) -> Standard:
    return Standard.of(store.statistics.mean_LH, store.statistics.scale_LH)


def windows(batches: list[Batch]) -> list[int]:
    return [int(window) for batch in batches for window in np.arange(ROWS)[batch.windows]]


def sizes(batches: list[Batch]) -> list[int]:
    return [len(batch.lengths_N) for batch in batches]


def ends(batches: list[Batch], start: int) -> list[int]:
    """The position behind each."""
    found: list[int] = (np.cumsum([-(-size // 16) for size in sizes(batches)]) + start).tolist()
    return found


def whole(store: Store) -> torch.Tensor:
    """hidden_LTH of the train split, raw."""
    return torch.cat([widen(block.hidden_LTH, CPU) for block in store.split("train").blocks()], dim=1)


@pytest.mark.usefixtures("fitting")
def test_the_first_pass_is_the_stores_order_in_steps_of_a_batch(store: Store) -> None:
    batches = list(rows_of(store).stretch(ROWS, 0, LENGTH, 48))

    assert windows(batches) == list(range(ROWS))
    assert sizes(batches) == [48, 48, 48, 48, 8]
    assert all(batch.lengths_N.tolist() == [1] * len(batch.windows) for batch in batches)  # type: ignore[arg-type]


@pytest.mark.usefixtures("fitting")
def test_later_passes_are_shuffled_by_row(store: Store) -> None:
    rows = rows_of(store)
    passes = [windows(list(rows.stretch(ROWS, n * LENGTH, (n + 1) * LENGTH, 48))) for n in (1, 2)]

    assert passes == [shuffled(ROWS, 3, n).tolist() for n in (1, 2)]
    assert passes[0] != passes[1] != list(range(ROWS))
    assert all(sorted(each) == list(range(ROWS)) for each in passes)


@pytest.mark.usefixtures("fitting")
def test_a_fraction_of_the_rows_is_the_first_ones_in_every_pass(store: Store) -> None:
    rows = rows_of(store)
    assert windows(list(rows.stretch(64, 0, 4, 16))) == list(range(64))
    later = windows(list(rows.stretch(64, 4, 8, 16)))
    assert sorted(later) == list(range(64)) != later


def test_a_step_ends_where_a_pass_does(store: Store) -> None:
    assert sizes(list(rows_of(store).stretch(ROWS, 0, 2 * LENGTH, 128))) == [128, 72, 128, 72]


@pytest.mark.parametrize("begun", [0, 6, LENGTH])
def test_a_step_that_was_cut_is_finished_first(store: Store, begun: int) -> None:
    """Heads count their steps from a border of their course; segments end wherever they have to."""
    rows = rows_of(store)
    stop = 2 * LENGTH
    steps = list(rows.stretch(ROWS, begun, stop, 48, begun=begun))
    for cut in range(begun + 1, stop):
        first = list(rows.stretch(ROWS, begun, cut, 48, begun=begun))
        second = list(rows.stretch(ROWS, cut, stop, 48, begun=begun))
        assert windows(first + second) == windows(steps)
        assert set(ends(first + second, begun)) == {*ends(steps, begun), cut}


def test_what_does_not_fit_into_memory_is_gathered_from_blocks(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    standard = standard_of(store)
    fits = rows_of(store, None, standard)
    monkeypatch.setattr(module, "SHARE", 0.0)
    gathers = rows_of(store, None, standard)
    assert isinstance(fits, RowsInMemory)
    assert isinstance(gathers, RowsInMemory)
    assert (fits._wide is None, gathers._wide is None) == (False, True)

    def batches(rows: Rows) -> list[Batch]:
        return list(chain(rows.stretch(ROWS, 0, 3 * LENGTH, 48), rows.all()))

    for one, other in zip(batches(fits), batches(gathers), strict=True):
        assert windows([one]) == windows([other])
        assert one.states.keys() == other.states.keys() == {None, standard}
        assert all(torch.equal(one.states[each], other.states[each]) for each in one.states)


@pytest.mark.usefixtures("fitting")
def test_states_are_those_of_their_windows_for_each_kind_of_inputs(store: Store) -> None:
    standard, raw_LTH = standard_of(store), whole(store)
    standard_LTH = standard.apply_to(raw_LTH.clone())
    for batch in rows_of(store, None, standard).stretch(ROWS, LENGTH, 2 * LENGTH, 48):
        assert torch.equal(batch.states[None], raw_LTH[:, batch.windows])
        assert torch.equal(batch.states[standard], standard_LTH[:, batch.windows])
    (alone,) = rows_of(store, standard).stretch(ROWS, 0, 3, 48)
    assert alone.states.keys() == {standard}


@pytest.mark.usefixtures("fitting")
def test_all_rows_come_once_in_the_order_of_the_index(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOOK", 30)
    batches = list(rows_of(store).all())

    assert windows(batches) == list(range(ROWS))
    assert sizes(batches) == [30] * 6 + [20]
    assert torch.equal(torch.cat([batch.states[None] for batch in batches], dim=1), whole(store))


@pytest.mark.parametrize("rows", [ROWS, 64, 48])
def test_seen_rows_are_those_that_were_read(store: Store, rows: int) -> None:
    own = rows_of(store)
    for position in range(3 * LENGTH):
        assert own.seen(rows, position) == sum(sizes(list(own.stretch(rows, 0, position, 16))))


def test_heads_of_one_batch_step_together_where_rows_are_in_memory(store: Store, tmp_path: Path) -> None:
    tokens = make_class_store(tmp_path / "tokens", tokens=12)
    assert [each.manifest.one_token for each in (store, tokens)] == [True, False]
    assert [rows_of(store).step_windows(batch) for batch in (16, 128)] == [16, 128]
    assert [rows_of(tokens).step_windows(batch) for batch in (16, 128)] == [16, 16]


def test_rows_of_many_tokens_are_read_block_by_block_in_micro_batches(tmp_path: Path) -> None:
    store = make_class_store(tmp_path / "tokens", tokens=12, limits=BlockLimits(bytes=1, windows=48))
    split, standard, rows = store.split("train"), standard_of(store), rows_of(store, standard_of(store))
    assert isinstance(rows, RowsOfBlocks)
    first, second = (list(rows.stretch(ROWS, n * LENGTH, (n + 1) * LENGTH, 128)) for n in (0, 1))

    assert windows(first) == list(range(ROWS))
    assert sorted(windows(second)) == list(range(ROWS)) != windows(second)
    assert set(sizes(first)) == {16, 8}
    for batch in (*first, *second):
        chosen = np.arange(ROWS)[batch.windows]
        assert batch.lengths_N.tolist() == split.lengths[chosen].tolist()
        (hidden_LTH,) = batch.states.values()
        assert hidden_LTH.shape == (LAYERS, int(batch.lengths_N.sum()), WIDTH)
    (states,) = (batch.states for batch in rows.stretch(ROWS, 0, 1, 16))
    (inputs,) = states
    assert inputs is not None
    raw_LTH = whole(store)[:, : int(split.lengths[:16].sum())]
    assert torch.equal(states[inputs], standard.apply_to(raw_LTH.clone()))
    for position in (0, 5, LENGTH, 2 * LENGTH - 1):
        assert rows.seen(ROWS, position) == rows_at(split.block_windows, rows=ROWS, position=position, seed=0)


@pytest.fixture(params=["in memory", "out of blocks", "block by block"])
def any_rows(
    request: pytest.FixtureRequest, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Rows:
    if request.param == "out of blocks":
        monkeypatch.setattr(module, "SHARE", 0.0)
    if request.param == "block by block":
        limits = BlockLimits(bytes=1, windows=48)
        store = make_class_store(tmp_path / "tokens", windows=ROWS, tokens=12, limits=limits)
    return rows_of(store, None, standard_of(store))


def test_windows_that_are_owned_come_once_owner_by_owner(
    any_rows: Rows, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LOOK", 30)
    owners_N = np.random.default_rng(0).integers(-1, 3, size=ROWS)
    batches = list(any_rows.owned(owners_N))

    assert sorted(windows(batches)) == np.flatnonzero(owners_N >= 0).tolist()
    assert all(len(set(owners_N[batch.windows])) == 1 for batch in batches)
    assert max(sizes(batches)) <= (16 if isinstance(any_rows, RowsOfBlocks) else 30)
    whole, ends = list(any_rows.all()), np.cumsum(any_rows.split.lengths)
    for inputs in any_rows.wanted.inputs:
        everything = torch.cat([batch.states[inputs] for batch in whole], dim=1)
        for batch in batches:
            own = batch.windows
            assert isinstance(own, np.ndarray)
            assert batch.lengths_N.tolist() == any_rows.split.lengths[own].tolist()
            starts = ends[own] - any_rows.split.lengths[own]
            tokens = [n for a, b in zip(starts, ends[own], strict=True) for n in range(a, b)]
            assert torch.equal(batch.states[inputs], everything[:, tokens])


def test_blocks_without_an_owned_window_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = make_class_store(tmp_path / "tokens", tokens=12, limits=BlockLimits(bytes=1, windows=48))
    rows, owners_N = rows_of(store), np.full(ROWS, -1)
    owners_N[[3, 100]] = 0
    read: list[int] = []
    real = StoreSplit.read

    def watched(split: StoreSplit, parts: list[Part]) -> Any:
        read.extend(part.block for part in parts)
        return real(split, parts)

    monkeypatch.setattr(StoreSplit, "read", watched)
    assert windows(list(rows.owned(owners_N))) == [3, 100]
    assert read == [0, 2]


def test_nobody_owns_nothing(any_rows: Rows) -> None:
    assert list(any_rows.owned(np.full(ROWS, -1))) == []
