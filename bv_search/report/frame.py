"""The frame of a page: one file with its styles, its script and its data, which asks nobody for anything.

A page is a template that extends `frame.html.j2`, of any package: `environment("bv_search.other")` finds the
templates of that package, and behind them those that stand here:

frame.html.j2  the page; blocks `title` and `body`; `linked`, if given, is the data of the linked charts
parts.html.j2  macros: `scroll`, a table that scrolls by itself where a screen is narrow
page.css       light and dark
table.js       tables of the class `sortable`, which sort by a click or a key on the head of a column
heads.html.j2  heads as points, lines and rows, for a page with `linked`: HeadColumns.to_json() of linked.py
linked.js      what links them, with plots.js, scatter.js and parallel.js
"""

from html import escape

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined, select_autoescape

from bv_search.encoder.stage import epochs
from bv_search.report import formatting

FORMATTERS = (
    "number", "interval", "delta", "signed", "percent", "share", "count", "seconds", "size", "verdict",
    "beside", "cell",
)  # fmt: skip
HERE = "bv_search.report"


def environment(package: str = HERE) -> Environment:
    """What a template is rendered in: HTML escapes all that it is given, numbers become words in one way."""
    found = Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader(HERE)]),
        autoescape=select_autoescape(["html.j2"]),
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    found.filters |= {name: getattr(formatting, name) for name in FORMATTERS} | {"epochs": epochs}
    return found


def in_frame(page: str) -> str:
    """A page inside of a notebook, where its styles stay its own."""
    return f'<iframe srcdoc="{escape(page)}" style="width: 100%; height: 45em; border: 0"></iframe>'
