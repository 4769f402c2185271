"""The page in a real browser: pointed at, brushed, sorted, light and dark, on a desk and on a phone."""

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from selenium.webdriver import ActionChains, Keys
from selenium.webdriver.remote.webelement import WebElement

from bv_search.command import Progress
from bv_search.report.config import ReportConfig
from bv_search.report.frame import environment
from bv_search.report.linked import BoardRow, head_columns
from bv_search.report.report import run as write
from bv_search.run.trial import TrialRecord
from tests.browser import DESK, PHONE, Browser, open_browser
from tests.model.small_run import Small, copy_run

QUIET = Progress(quiet=True)
MANY = 2000
HOSTILE = "</script><script>window.taken = true</script><img src=x onerror='window.taken = true'>"
ALONE = '{% extends "frame.html.j2" %}{% block body %}{% include "heads.html.j2" %}{% endblock %}'


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with open_browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def page(small: Small, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A whole report; one of its trials failed, for a reason that would like to be a script."""
    run = copy_run(small, tmp_path_factory.mktemp("page") / "first")
    run.journal.append({"event": "suggest", "trial": "0009", "config": {"head": {"kind": HOSTILE}}})
    run.journal.append({"event": "finish", "trial": "0009", "status": "failed", "reason": HOSTILE})
    write(ReportConfig(runs=(str(run.path),), data=str(small.data), mlflow=False), QUIET)
    return run.path / "report.html"


def heads(count: int) -> list[TrialRecord]:
    """Drawn at random; the larger its size, the better a head."""
    rng = np.random.default_rng(0)
    return [
        TrialRecord(
            id=f"{number:04}",
            config={
                "head": {
                    "kind": ("adapter", "mlp", HOSTILE)[number % 3],
                    "size": int(rng.choice([16, 64, 256])),
                },
                "learning_rate": float(10 ** rng.uniform(-4, -2)),
                **({"dropout": float(rng.random())} if number % 3 else {}),
            },
            status="done",
            score=(score := float(rng.random())),
            report_score=score,
            interval=(score - 0.1, score + 0.1),
            parameters=int(10 ** rng.uniform(3, 6)),
            rows=1000,
            seconds=float(rng.random()),
        )
        for number in range(count)
    ]


def write_heads(place: Path, count: int) -> Path:
    """The charts alone."""
    records = heads(count)
    rows = [
        BoardRow(id=each.id, rank=n, record=each, head=HOSTILE) for n, each in enumerate(records, start=1)
    ]
    place.write_text(
        environment()
        .from_string(ALONE)
        .render(
            linked=head_columns(records, metric=HOSTILE).to_json(),
            board=rows,
            board_columns=(),
            figure="",
            caption=HOSTILE,
        )
    )
    return place


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_heads(tmp_path_factory.mktemp("few") / "heads.html", 30)


def shown(browser: Browser) -> list[str]:
    """The heads on the leaderboard, from above."""
    found: list[str] = browser.run(
        "return [...document.querySelectorAll('#linked-board tbody tr')]"
        ".filter((line) => line.offsetHeight).map((line) => line.dataset.head)"
    )
    return found


def axis(browser: Browser, title: str) -> WebElement:
    """What is dragged along."""
    labels = {each.get_attribute("aria-label") or "": each for each in browser.all("#linked-parallel .catch")}
    (found,) = [grip for label, grip in labels.items() if label.startswith(f"{title}:")]
    return found


def settle(browser: Browser) -> None:
    """Until what waits for the next frame has been drawn."""
    browser.chrome.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")


@pytest.mark.parametrize("size", [DESK, PHONE])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_report_fits_its_screen_in_either_colour_and_asks_nobody(
    browser: Browser, page: Path, size: tuple[int, int], scheme: str
) -> None:
    browser.open(page, size=size, scheme=scheme)
    settle(browser)
    assert browser.complaints() == []
    assert browser.run("return document.documentElement.scrollWidth <= innerWidth")
    assert browser.run("return performance.getEntriesByType('resource').length") == 0
    paper, ink = browser.run(
        "const style = getComputedStyle(document.body); return [style.backgroundColor, style.color]"
        ".map((colour) => colour.match(/\\d+/g).slice(0, 3).reduce((sum, each) => sum + Number(each), 0))"
    )
    assert (paper > ink) is (scheme == "light")
    assert len(browser.all("#linked-scatter .point")) == 7  # three heads of the search, four probes
    heights = browser.run(
        "return [...document.querySelectorAll('figure svg text')].filter((each) => each.textContent.trim())"
        ".map((each) => each.getBoundingClientRect().height)"
    )
    assert min(heights) >= 8


def test_nothing_of_a_user_becomes_a_script(browser: Browser, page: Path, few: Path) -> None:
    for place in (page, few):
        browser.open(place)
        settle(browser)
        assert browser.run("return window.taken") is None
        assert HOSTILE in browser.run("return document.querySelector('#linked-board').textContent")
        assert browser.complaints() == []


def test_a_head_that_is_pointed_at_is_told_and_marked_everywhere(browser: Browser, few: Path) -> None:
    browser.open(few)
    settle(browser)
    point = browser.all("#linked-scatter .point")[7]
    ActionChains(browser.chrome).move_to_element(point).perform()
    assert browser.one(".tip b").text in {record.id for record in heads(30)}
    told = browser.one(".tip b").text
    record = next(record for record in heads(30) if record.id == told)
    assert f"parameters: {record.parameters:,}" in browser.one(".tip").text
    assert [line.get_attribute("data-head") for line in browser.all("tr.active")] == [told]
    assert browser.one("#linked-scatter .ring").get_attribute("visibility") == "visible"

    line = browser.one('tr[data-head="0003"] td')
    ActionChains(browser.chrome).move_to_element(line).perform()
    assert [each.get_attribute("data-head") for each in browser.all("tr.active")] == ["0003"]
    drawn = (
        "const canvas = document.querySelectorAll('#linked-parallel canvas')[1];"
        "return canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.some(Boolean)"
    )
    assert browser.run(drawn)
    ActionChains(browser.chrome).move_to_element(browser.one("#linked-clear")).perform()
    assert browser.all("tr.active") == []
    assert not browser.run(drawn)


def test_points_are_gone_through_by_the_arrow_keys(browser: Browser, few: Path) -> None:
    browser.open(few)
    settle(browser)
    browser.run("document.querySelector('#linked-scatter .plot svg').focus()")
    by_size = sorted(heads(30), key=lambda record: record.parameters or 0)
    for record in by_size[:3]:
        ActionChains(browser.chrome).send_keys(Keys.ARROW_RIGHT).perform()
        assert browser.one(".tip b").text == record.id
        assert browser.one("#linked-status").text.startswith(record.id)
    ActionChains(browser.chrome).send_keys(Keys.ESCAPE).perform()
    assert not browser.one(".tip").is_displayed()


def test_a_brush_keeps_its_heads_in_all_three(browser: Browser, few: Path) -> None:
    browser.open(few)
    settle(browser)
    grip = axis(browser, f"{HOSTILE} on select")
    browser.run("arguments[0].scrollIntoView({ block: 'center', inline: 'center' })", grip)
    height = browser.run("return arguments[0].getBoundingClientRect().height", grip)
    drag = ActionChains(browser.chrome).move_to_element_with_offset(grip, 0, 4 - int(height / 2))
    drag.click_and_hold().move_by_offset(0, int(0.4 * height)).release().perform()
    settle(browser)
    kept = shown(browser)
    scores = {record.id: record.score or 0.0 for record in heads(30)}
    assert 0 < len(kept) < 30
    assert min(scores[each] for each in kept) > max(
        score for each, score in scores.items() if each not in kept
    )
    assert len(browser.all("#linked-scatter .point:not(.out)")) == len(kept)
    assert browser.one("#linked-status").text == f"{len(kept)} of 30 heads"
    browser.one("#linked-clear").click()
    settle(browser)
    assert len(shown(browser)) == 30
    assert browser.one("#linked-status").text == "all 30 heads"


def test_an_axis_is_brushed_by_the_keyboard(browser: Browser, few: Path) -> None:
    browser.open(few)
    settle(browser)
    grip = axis(browser, "size")
    browser.run("arguments[0].focus()", grip)
    ActionChains(browser.chrome).send_keys(Keys.ARROW_DOWN).perform()
    settle(browser)
    sizes = {record.id: record.config["head"]["size"] for record in heads(30)}
    assert set(shown(browser)) == {each for each, size in sizes.items() if size == 256}
    assert grip.get_attribute("aria-valuetext") == "keeps 256"
    ActionChains(browser.chrome).send_keys(Keys.ARROW_DOWN, Keys.ARROW_DOWN).perform()
    settle(browser)
    assert set(shown(browser)) == {each for each, size in sizes.items() if size == 16}
    ActionChains(browser.chrome).send_keys(Keys.ESCAPE).perform()
    settle(browser)
    assert len(shown(browser)) == 30


def test_a_table_is_sorted_by_mouse_and_by_keyboard(browser: Browser, few: Path) -> None:
    browser.open(few)
    settle(browser)
    by_size = [record.id for record in sorted(heads(30), key=lambda record: -(record.parameters or 0))]
    (head,) = [each for each in browser.all("#linked-board th") if each.text.startswith("parameters")]
    head.find_element("css selector", "button").click()
    assert shown(browser) == by_size
    assert head.get_attribute("aria-sort") == "descending"
    ActionChains(browser.chrome).send_keys(Keys.ENTER).perform()
    assert shown(browser) == by_size[::-1]
    assert head.get_attribute("aria-sort") == "ascending"
    assert len(browser.all("#linked-board th[aria-sort]")) == 1


def test_another_measure_is_drawn_when_it_is_chosen(browser: Browser, few: Path) -> None:
    browser.open(few)
    settle(browser)
    places = "return [...document.querySelectorAll('.point')].map((each) => each.getAttribute('transform'))"
    before = browser.run(places)
    browser.one("#linked-x option[value=seconds]").click()
    after = browser.run(places)
    assert before != after
    assert len(before) == len(after) == 30


def test_colours_change_while_the_page_is_open(browser: Browser, few: Path) -> None:
    browser.open(few)
    settle(browser)
    drawn = "return document.querySelector('#linked-parallel canvas').toDataURL()"
    light = browser.run(drawn)
    browser.show_in("dark")
    settle(browser)
    assert browser.run(drawn) != light


def test_thousands_of_heads_stay_quick(browser: Browser, tmp_path: Path) -> None:
    browser.open(write_heads(tmp_path / "many.html", MANY))
    settle(browser)
    grip = axis(browser, "learning_rate")
    browser.run("arguments[0].focus()", grip)
    began = time.monotonic()
    for _ in range(4):
        ActionChains(browser.chrome).send_keys(Keys.ARROW_DOWN).perform()
        settle(browser)
    assert (time.monotonic() - began) / 4 < 3
    assert 0 < len(shown(browser)) < MANY
    assert browser.complaints() == []


def test_without_a_script_there_is_a_picture_and_a_whole_table(browser: Browser, page: Path) -> None:
    browser.open(page, scripts=False)
    assert browser.one("#linked-scatter svg").is_displayed()
    assert len(browser.all("tr[data-head]")) == 9  # a trial that failed, and the majority, among them
    assert all(line.is_displayed() for line in browser.all("tr[data-head]"))
    assert not any(each.is_displayed() for each in browser.all(".linked-only"))
    assert not browser.all("th button")
