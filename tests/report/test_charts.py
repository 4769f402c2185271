"""Charts are SVG that takes the colour of its page."""

import re
from xml.etree import ElementTree

from bv_search.run import Run


def test_charts_are_whole_svg_in_the_pages_colour(written: tuple[Run, str, str]) -> None:
    _, html, _ = written
    charts = re.findall(r"<svg.*?</svg>", html, flags=re.DOTALL)
    assert len(charts) == 5  # standings, parameters, spans, layers, calibration; too few trials for effects
    for chart in charts:
        ElementTree.fromstring(chart)
        assert "currentColor" in chart
        assert "#010203" not in chart
        assert 'role="img" aria-label="' in chart
