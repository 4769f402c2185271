"""Both forms of a report say what was found."""

import itertools
import re
from html.parser import HTMLParser

import pytest

from bv_search.report.facts import gather
from bv_search.report.page import render
from bv_search.run import Run
from bv_search.run.study import FRONT
from bv_search.store.store import StoreSplit
from tests.model.small_run import Small, bag, teach


class Tags(HTMLParser):
    """What a page loads, and whether its tables are whole."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.cells: list[int] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in {"script", "link", "img", "iframe"}:
            self.loads.append(tag)
        if tag == "tr":
            self.cells.append(0)
        if tag in {"td", "th"}:
            self.cells[-1] += 1


def test_a_front_is_shown_where_it_was_looked_for(run: Run) -> None:
    plain = render(gather(run))
    run.change_study(objective=FRONT)
    facts = gather(run)
    page = render(facts)
    assert facts.front
    for text, heading in ((page.html, "The front:"), (page.markdown, "## The front")):
        assert heading in text
        assert all(f"{record.parameters:,}" in text.partition(heading)[2] for record in facts.front)
    assert "front, by select" in page.html
    assert "front, by select" not in plain.html
    assert "The front" not in plain.html + plain.markdown


def test_the_page_needs_nothing_beside_it(written: tuple[Run, str, str]) -> None:
    _, html, _ = written
    assert set(Tags(html).loads) == {"script"}  # its own
    assert not re.search(r'(src|href)="(?!#)', html.replace('xlink:href="#', 'href="#'))
    assert "url(http" not in html
    assert "@import" not in html


def test_an_encoder_that_knows_the_answers_is_said(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "scores on them are too good" not in render(gather(run)).markdown
    monkeypatch.setattr(StoreSplit, "seen", 3)
    page = render(gather(run))
    assert page.markdown.count("scores on them are too good") == 2
    assert page.html.count("scores on them are too good") == 2


def test_both_forms_say_what_was_found(written: tuple[Run, str, str], small: Small) -> None:
    run, html, markdown = written
    top = run.finished_trials()[0]
    for page in (html, markdown):
        assert f"{top.report_score:.4f}" in page
        assert "HasAns_f1" in page
        assert "Layer by layer" in page
        assert all(record.id in page for record in run.trials())
        assert "grid, none" in page or "searcher grid, scheduler none" in page
    lines = markdown.splitlines()
    for above, below in itertools.pairwise(lines):
        if above.startswith("|") and below.startswith("|"):
            assert above.count("|") == below.count("|"), (above, below)
    assert html.count("<tr") == html.count("</tr>")


def test_the_ladder_is_printed_before_the_winner(written: tuple[Run, str, str]) -> None:
    run, html, markdown = written
    facts = gather(run)
    titles = [each.title for each in facts.standings]
    assert titles[:4] == ["majority", "encoder", "best linear probe", "best head"]
    assert re.findall(r'<tr><td class="w">([a-z ]+)</td>', html.partition("all figures")[0]) == titles
    assert re.findall(r"^\| ([a-z ]+) \((?:trial|greedy|mean|max|/)", markdown, flags=re.MULTILINE) == titles
    for title, page in itertools.product(titles[:3], (html, markdown)):
        assert re.search(f"(better than|worse than|a tie with) the {title}", page)
    assert markdown.index("- Without a search: majority") < markdown.index("- The best head")


def test_the_page_says_what_is_luck_and_how_many_learned_once_more(small: Small, run: Run) -> None:
    teach(small, run, "0003", 0.9)
    bag(run, "0003")
    page = render(gather(run))
    for form in (page.html, page.markdown):
        assert re.search(
            r"It has select 0\.\d{4}, of which about 0\.\d{3} is luck: the best of \d+ heads\.", form
        )
        assert "0003-bagged" in form
        assert "1 of them learned once more" in form


def test_no_page_calls_a_result_a_gain_that_a_probe_reaches_too(small: Small, run: Run) -> None:
    teach(small, run, "0003", 0.9)
    teach(small, run, "probe-2", 0.89)
    page = render(gather(run))
    assert "The best head is a tie, and no gain" in page.markdown
    assert "is a gain" not in page.markdown + page.html
