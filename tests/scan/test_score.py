"""Every window is answered by the copy whose fold it is of."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from bv_search.heads.config import AdapterHead, PoolingHead
from bv_search.heads.head import Head
from bv_search.heads.inputs import Standard
from bv_search.scan.folds import Folds
from bv_search.scan.rows import Rows, open_rows
from bv_search.scan.score import score_copies, score_heads
from bv_search.scan.store_view import head_shape, learned_split
from bv_search.store.store import Store
from tests.stores import make_class_store, make_span_store, make_value_store

CPU = torch.device("cpu")
FOLDS = 3


@pytest.fixture(scope="module", params=["spans", "classes", "one token", "values"])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Store:
    place = tmp_path_factory.mktemp("score") / "store"
    match request.param:
        case "spans":
            return make_span_store(place, windows=90)
        case "values":
            return make_value_store(place, windows=90)
        case _:
            tokens = 12 if request.param == "classes" else 1
            return make_class_store(place, windows=90, tokens=tokens, seen={"train": 40})


def heads_of(store: Store) -> list[list[Head]]:
    """On both kinds of inputs."""
    shape = head_shape(store)
    standard = Standard.of(store.statistics.mean_LH, store.statistics.scale_LH)
    return [
        [Head(PoolingHead(), shape, standard).initialise(n) for n in range(FOLDS)],
        [Head(AdapterHead(size=3), shape).initialise(n) for n in range(FOLDS)],
        [Head(AdapterHead(size=3), shape, standard).initialise(n + 5) for n in range(FOLDS)],
    ]


def rows_of(store: Store, heads: list[list[Head]]) -> Rows:
    inputs = [None, heads[0][0].inputs]
    return open_rows(learned_split(store, folds=FOLDS), inputs, CPU)


def test_an_answer_is_that_of_the_copy_of_its_fold(store: Store) -> None:
    heads, folds = heads_of(store), Folds.of(store, FOLDS)
    rows = rows_of(store, heads)
    for copies, found in zip(heads, score_copies(heads, rows, folds), strict=True):
        each = score_heads(copies, rows)
        assert len(found) == len(folds.judged)
        for window, logits in zip(folds.judged, found, strict=True):
            np.testing.assert_allclose(logits, each[folds.of_N[window]][window], rtol=1e-4, atol=1e-5)


def test_company_changes_no_answer(store: Store) -> None:
    heads, folds = heads_of(store), Folds.of(store, FOLDS)
    together = score_copies(heads, rows_of(store, heads), folds)
    for copies, found in zip(heads, together, strict=True):
        (alone,) = score_copies([copies], rows_of(store, heads), folds)
        for one, other in zip(alone, found, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def test_one_copy_reads_each_window(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """And none reads a window that judges nobody."""
    heads, folds = heads_of(store), Folds.of(store, FOLDS)
    rows = rows_of(store, heads)
    seen: list[int] = []
    owned = type(rows).owned

    def watched(rows: Rows, owners_N: np.ndarray) -> Any:
        for batch in owned(rows, owners_N):
            seen.extend(np.arange(rows.split.windows)[batch.windows])
            yield batch

    monkeypatch.setattr(type(rows), "owned", watched)
    score_copies(heads, rows, folds)
    assert sorted(seen) == folds.judged.tolist()


def test_answers_of_spans_have_their_windows_tokens(tmp_path: Path) -> None:
    store = make_span_store(tmp_path / "store", windows=40)
    heads, folds = heads_of(store), Folds.of(store, FOLDS)
    rows = rows_of(store, heads)
    (found, *_) = score_copies(heads, rows, folds)
    assert [len(logits) for logits in found] == rows.split.lengths[folds.judged].tolist()
    (whole,) = score_heads([heads[0][0]], rows)
    ends = np.cumsum([0, *rows.split.lengths])
    assert [len(logits) for logits in whole] == [stop - start for start, stop in pairwise(ends)]
