"""What every page stands in."""

import json
import re

import pytest

from bv_search.report.frame import environment

HOSTILE = "</script><script>alert(1)</script><!-- \u2028"
PAGE = '{% extends "frame.html.j2" %}{% block title %}{{ title }}{% endblock %}'
PAGE += "{% block body %}{{ body }}{% endblock %}"


def colours(scheme: str) -> dict[str, str]:
    """The variables of the page, by scheme."""
    text = environment().get_template("page.css").render()
    blocks = re.findall(r":root \{(.*?)\}", text, flags=re.DOTALL)
    return dict(re.findall(r"--(\w+): (#\w{6});", blocks[scheme == "dark"]))


def luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_letters_and_marks_stand_out_from_the_page(scheme: str) -> None:
    """As WCAG asks: 4.5 for text, 3 for what is drawn."""
    known = colours(scheme)
    for paper in ("paper", "tint"):
        for ink in ("ink", "soft", "mark"):
            assert contrast(known[ink], known[paper]) >= 4.5, (ink, paper)
    assert len([name for name in known if re.fullmatch(r"c\d", name)]) == 7
    for mark in (name for name in known if re.fullmatch(r"c\d", name)):
        assert contrast(known[mark], known["paper"]) >= 3, mark


def test_whatever_is_given_stays_text_and_data() -> None:
    page = environment().from_string(PAGE).render(title=HOSTILE, body=HOSTILE, linked={"ids": [HOSTILE]})
    assert page.count("<script") == 2  # the data, and the page's own
    data = page.partition('id="linked">')[2].partition("</script>")[0]
    assert json.loads(data) == {"ids": [HOSTILE]}


def test_a_page_may_ask_nobody_for_anything() -> None:
    page = environment().from_string(PAGE).render(title="", body="")
    assert "default-src 'none'" in page
    assert "linked" not in page.partition("<body>")[2]  # no charts where there is no data of any


def test_templates_of_another_package_stand_in_front() -> None:
    found = environment("bv_search.report")
    assert "page.css" in found.list_templates()
    assert found.filters["size"](25_600_000) == "25.6 MB"
    assert found.filters["signed"](-0.5) == "−0.500"
