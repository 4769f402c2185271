"""Rows to read: those that one model gets right and the other wrong, as they stand in the data."""

from typing import Any

import pyarrow as pa
import pytest

from bv_search.report.facts import gather
from bv_search.report.page import render
from bv_search.report.partings import LONGEST, MOST, excerpt_of, find_partings, shorten
from bv_search.run import Run
from bv_search.tasks.dataset import load_dataset
from bv_search.tasks.row import Role, Row
from bv_search.tasks.squad_score import EXACT
from tests.model.small_run import Small, teach


def rows_of(small: Small) -> dict[str, Row]:
    dataset = load_dataset(small.store.task, str(small.data))
    return {row.id: row for row in dataset.rows(Role.REPORT)}


def test_each_side_shows_rows_that_only_it_gets_right(small: Small, run: Run) -> None:
    teach(small, run, "0003", 0.6)
    facts, rows = gather(run), rows_of(small)
    found = find_partings(facts, rows)
    assert found is not None
    assert found.other == "encoder"
    head, encoder = facts.standing("best head"), facts.standing("encoder")
    assert head is not None
    assert encoder is not None
    right = [
        dict(zip(each.evaluation.rows, each.evaluation.outcome[:, EXACT] == 1, strict=True))
        for each in (head, encoder)
    ]
    assert found.sides[0].title == "Right only by the best head"
    assert found.sides[0].rows
    for side, (one, other) in zip(found.sides, (right, right[::-1]), strict=True):
        assert side.total == sum(one[row] and not other[row] for row in one)
        assert len(side.rows) == min(MOST, len([row for row in one if one[row] and not other[row]]))
        assert all(one[row.id] and not other[row.id] for row in side.rows)
    for row in found.sides[0].rows:
        assert row.texts == [rows[row.id].text_a]
        assert row.ours in row.gold.split(" / ")
        assert row.theirs not in row.gold.split(" / ")
        assert row.excerpt is not None
        assert row.excerpt.marked in (rows[row.id].text_b or "")


def test_without_the_data_rows_have_their_ids_and_the_page_says_so(small: Small, run: Run) -> None:
    teach(small, run, "0003", 0.6)
    facts = gather(run)
    found = find_partings(facts, None)
    assert found is not None
    assert all(row.texts == [] for side in found.sides for row in side.rows)
    page, told = render(facts).html, render(facts, str(small.data), rows_of(small)).html
    assert "the data was not named" in page
    assert "the data was not named" not in told
    assert found.sides[0].rows[0].id in page
    assert '<p dir="auto">' in told, "whatever way its language is written"
    assert f"<bdi>{found.sides[0].rows[0].ours}</bdi>" in told


def test_only_rows_that_are_shown_are_answered(
    small: Small, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    teach(small, run, "0003", 0.6)
    facts = gather(run)
    kind, answers, asked = type(facts.task), type(facts.task).answers, []

    def listen(task: Any, index: pa.Table, logits: Any) -> Any:
        asked.append(set(index["row"].to_pylist()))
        return answers(task, index, logits)

    monkeypatch.setattr(kind, "answers", listen)
    found = find_partings(facts, None)
    assert found is not None
    shown = [row for side in found.sides for row in side.rows]
    assert asked == [{row.id} for row in shown for _ in range(2)]


def test_an_excerpt_stands_around_the_answer() -> None:
    passage = "a " * 200 + "Ada met Bob" + " z" * 200
    found = excerpt_of(passage, ["no such thing", "", "met"])
    assert found.marked == "met"
    assert found.before.startswith("… ")
    assert found.before.endswith("Ada ")
    assert found.after.startswith(" Bob")
    assert found.after.endswith(" …")
    assert excerpt_of("Ada met Bob", ["Eve"]).before == "Ada met Bob"


def test_a_long_text_keeps_its_beginning_in_every_language() -> None:
    assert shorten("中" * 700, LONGEST) == "中" * LONGEST + " …"
    assert shorten(" one\n two ", 7) == "one two"
    assert shorten("one two", 4) == "one …"
    assert excerpt_of("ไทย" * 700, []).before.startswith("ไทย")
