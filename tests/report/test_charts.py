"""Charts are SVG that takes the colour of its page."""

import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from bv_search.report import charts as module
from bv_search.report.charts import curves_chart
from bv_search.report.facts import gather
from bv_search.report.page import render
from bv_search.run import Run
from bv_search.run.trial import CurvePoint


def test_charts_are_whole_svg_in_the_pages_colour(written: tuple[Run, str, str]) -> None:
    _, html, _ = written
    charts = re.findall(r"<svg.*?</svg>", html, flags=re.DOTALL)
    assert len(charts) == 5  # standings, parameters, spans, layers, calibration; too few trials for effects
    for chart in charts:
        ElementTree.fromstring(chart)
        assert "currentColor" in chart
        assert "#010203" not in chart
        assert 'role="img" aria-label="' in chart


def test_of_many_curves_the_best_are_drawn_and_the_caption_says_so(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = gather(run)
    curve = tuple(CurvePoint(rows=rows, score=rows / 100, loss=1.0) for rows in (16, 32))
    many = replace(facts, records=[replace(record, curve=curve) for record in facts.records])
    best = replace(facts, records=many.ranked[:3])
    assert curves_chart(many) != curves_chart(best)
    monkeypatch.setattr(module, "MOST_CURVES", 3)
    assert curves_chart(many) == curves_chart(best)
    assert f"Drawn are the best 3 heads of {len(many.records)}." in render(many).html
    assert "Drawn are the best" not in render(best).html
