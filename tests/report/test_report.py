import itertools
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from bv_search.command import Progress, main
from bv_search.ensemble.ensemble import EnsembleConfig
from bv_search.ensemble.ensemble import run as decide
from bv_search.report.__main__ import COMMAND
from bv_search.report.facts import gather
from bv_search.report.layers import layer_weights
from bv_search.report.page import render
from bv_search.report.report import ReportConfig
from bv_search.report.report import run as write
from bv_search.report.spans import span_facts
from bv_search.report.words import verdict
from bv_search.run import Run
from bv_search.store.store import StoreSplit
from bv_search.tasks.evaluation import Delta
from tests.model.small_run import Small

QUIET = Progress(quiet=True)


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


@pytest.fixture
def written(run: Run) -> tuple[Run, str, str]:
    decide(EnsembleConfig(runs=(str(run.path),), mlflow=False), QUIET)
    write(ReportConfig(runs=(str(run.path),), mlflow=False), QUIET)
    return run, (run.path / "report.html").read_text(), (run.path / "report.md").read_text()


def test_the_page_needs_nothing_beside_it(written: tuple[Run, str, str]) -> None:
    _, html, _ = written
    assert Tags(html).loads == []
    assert not re.search(r'(src|href)="(?!#)', html.replace('xlink:href="#', 'href="#'))
    assert "url(http" not in html
    assert "@import" not in html


def test_charts_are_whole_svg_in_the_pages_colour(written: tuple[Run, str, str]) -> None:
    _, html, _ = written
    charts = re.findall(r"<svg.*?</svg>", html, flags=re.DOTALL)
    assert len(charts) == 4  # standings, parameters, spans, layers; too few trials for effects, one rung each
    for chart in charts:
        ElementTree.fromstring(chart)
        assert "currentColor" in chart
        assert "#010203" not in chart
        assert 'role="img" aria-label="' in chart


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
        assert "Which layers it listens to" in page
        assert all(record.id in page for record in run.trials())
        assert "grid, none" in page or "searcher grid, scheduler none" in page
    lines = markdown.splitlines()
    for above, below in itertools.pairwise(lines):
        if above.startswith("|") and below.startswith("|"):
            assert above.count("|") == below.count("|"), (above, below)
    assert html.count("<tr>") == html.count("</tr>")


def test_the_same_run_gives_the_same_page(written: tuple[Run, str, str]) -> None:
    run, html, markdown = written
    write(ReportConfig(runs=(str(run.path),), mlflow=False), QUIET)
    assert (run.path / "report.html").read_text() == html
    assert (run.path / "report.md").read_text() == markdown


@pytest.mark.parametrize(
    ("low", "high", "word"),
    [(0.01, 0.05, "better"), (-0.01, 0.05, "not better"), (0.0, 0.05, "not better"), (-0.05, -0.01, "worse")],
)
def test_no_more_is_said_than_the_interval_allows(low: float, high: float, word: str) -> None:
    assert Delta(value=0.02, low=low, high=high).word == word


def test_the_encoder_is_judged_by_its_own_figures(small: Small) -> None:
    facts = gather(small.run)
    encoder = facts.standings[0]
    assert small.store.manifest.baseline is not None
    assert encoder.score == pytest.approx(small.store.manifest.baseline.report_score)
    assert (encoder.delta, verdict(encoder)) == (None, "–")
    best = facts.standing("best head")
    assert best is not None
    assert best.score == facts.ranked[0].report_score
    assert best.delta is not None
    assert best.delta.value == pytest.approx(best.score - encoder.score)


def test_questions_with_and_without_an_answer_are_told_apart(small: Small) -> None:
    encoder = span_facts(gather(small.run))[0]
    assert small.store.manifest.baseline is not None
    metrics = small.store.manifest.baseline.report
    assert encoder.has_answer == pytest.approx(metrics["HasAns_exact"])
    assert encoder.no_answer == pytest.approx(metrics["NoAns_exact"])
    assert (encoder.alone, encoder.lost) == (0, 0)


def test_without_predictions_of_the_encoder_no_head_stands_in_for_it(small: Small) -> None:
    facts = gather(small.run)
    heads = replace(facts, standings=[each for each in facts.standings if each.role != "encoder"])
    for found in span_facts(heads):
        assert (found.alone, found.lost, found.alone_words, found.lost_words) == (None,) * 4
    table = render(heads).markdown.partition("## With an answer, and without")[2].partition("##")[0]
    assert table.count("| – | – |\n") == len(heads.standings)


def test_layer_weights_are_of_the_best_learned_pooling(small: Small) -> None:
    weights = layer_weights(gather(small.run))
    assert weights is not None
    assert weights.trial == "0001"
    assert weights.channels == ("embeddings", "layer 1", "layer 2")
    assert np.sum(weights.weights) == pytest.approx(1.0)


def test_names_cannot_put_markup_on_the_page(run: Run) -> None:
    run.change_study(name="<script>alert(1)</script>", searcher="a|b")
    write(ReportConfig(runs=(str(run.path),), mlflow=False), QUIET)
    assert "<script" not in (run.path / "report.html").read_text()


def test_a_failed_trial_stands_on_the_board_with_its_reason(run: Run) -> None:
    run.journal.append({"event": "suggest", "trial": "0009", "config": {"head": {"kind": "pooling"}}})
    run.journal.append(
        {"event": "finish", "trial": "0009", "status": "failed", "reason": "diverged | at 16 rows"}
    )
    write(ReportConfig(runs=(str(run.path),), mlflow=False), QUIET)
    assert "diverged | at 16 rows" in (run.path / "report.html").read_text()
    assert "diverged \\| at 16 rows" in (run.path / "report.md").read_text()


def test_the_command_writes_prints_and_mirrors(run: Run, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(COMMAND, [str(run.path), "--json", "--quiet"]) == 0
    value: dict[str, Any] = json.loads(capfd.readouterr().out.splitlines()[-1])
    assert value["run"] == str(run.path)
    assert [each["model"] for each in value["standings"]][:2] == ["encoder", "best head"]
    assert list((run.path.parent / "mlartifacts").rglob("report.html"))
    assert main(COMMAND, [str(run.path)]) == 0
    assert "scores" in capfd.readouterr().out


def test_a_search_that_is_still_going_on_keeps_its_mirror_to_itself(
    run: Run, capfd: pytest.CaptureFixture[str]
) -> None:
    with run.writing():
        assert main(COMMAND, [str(run.path)]) == 0
    assert "not in MLflow" in capfd.readouterr().err
    assert not list((run.path.parent / "mlartifacts").rglob("report.html"))


def test_what_is_no_finished_run_is_one_line(
    small: Small, run: Run, capfd: pytest.CaptureFixture[str]
) -> None:
    for arguments, complaint in (
        ([str(small.data)], "is not a run"),
        ([str(run.path), str(run.path)], "is named twice"),
        ([str(run.path), "--data", str(small.data / "dev.json")], "was made of other data"),
    ):
        assert main(COMMAND, [*arguments, "--quiet"]) == 2
        err = capfd.readouterr().err
        assert complaint in err
        assert err.count("\n") == 1
    assert not (run.path / "report.html").exists()
