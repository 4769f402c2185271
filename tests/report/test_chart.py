"""A chart takes the colour and the width of its page."""

import re
from xml.etree import ElementTree

from bv_search.report.chart import INK, SLATE, Chart, drawing


def drawn(title: str) -> Chart:
    with drawing(title, 2.0) as chart:
        chart.axes.plot([0, 1], [0, 1], "o-")
        chart.axes.set_xlabel("rows")
    return chart


def test_its_ink_is_that_of_the_page() -> None:
    svg = drawn("a line").svg
    ElementTree.fromstring(svg)
    assert "currentColor" in svg
    assert INK not in svg


def test_alone_it_has_a_colour_of_its_own() -> None:
    chart = drawn("a line")
    assert "currentColor" not in chart.alone
    assert chart.alone.count(SLATE) == chart.svg.count("currentColor")


def test_its_width_is_left_to_the_page_and_its_title_to_readers_of_screens() -> None:
    (root,) = re.findall(r"<svg[^>]*>", drawn("a line").svg)
    assert " width=" not in root
    assert " height=" not in root
    assert 'role="img" aria-label="a line"' in root


def test_the_same_chart_has_the_same_bytes_and_ids_are_its_own() -> None:
    def ids(title: str) -> set[str]:
        return set(re.findall(r'<path id="(m[0-9a-f]+)"', drawn(title).svg))

    assert drawn("one").svg == drawn("one").svg
    assert ids("one")
    assert not ids("one") & ids("another")


def test_a_name_is_no_formula() -> None:
    with drawing("it", 2.0) as chart:
        chart.axes.set_yticks([0, 1], ["a $b_$ run", "$x$"])
    assert ">a $b_$ run</text>" in chart.svg
    assert ">$x$</text>" in chart.svg


def test_panels_stand_above_each_other() -> None:
    with drawing("three", 3.0, (2.0, 1.0, 1.0)) as chart:
        assert len(chart.panels) == 3
        tops = [axes.get_position().y1 for axes in chart.panels]
        assert tops == sorted(tops, reverse=True)
        assert chart.axes is chart.panels[0]
