import itertools
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import torch

from bv_search.command import Progress, main
from bv_search.ensemble.config import EnsembleConfig
from bv_search.ensemble.ensemble import run as decide
from bv_search.heads.copies import load_heads
from bv_search.model.standings import Standings
from bv_search.report.__main__ import COMMAND
from bv_search.report.charts import layers_chart
from bv_search.report.config import ReportConfig
from bv_search.report.facts import gather
from bv_search.report.formatting import summary, verdict
from bv_search.report.layers import find_layers
from bv_search.report.page import render
from bv_search.report.report import run as write
from bv_search.report.spans import span_facts
from bv_search.run import Run
from bv_search.run.study import FRONT
from bv_search.scan.ladder import ENCODER
from bv_search.scan.store_view import role_index
from bv_search.store.store import StoreSplit
from bv_search.tasks.evaluation import Delta
from bv_search.tasks.row import Role
from tests.model.small_run import Small, bag, make_run, teach

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


@pytest.fixture
def written(run: Run) -> tuple[Run, str, str]:
    decide(EnsembleConfig(runs=(str(run.path),), mlflow=False), QUIET)
    write(ReportConfig(runs=(str(run.path),), mlflow=False), QUIET)
    return run, (run.path / "report.html").read_text(), (run.path / "report.md").read_text()


def test_the_page_needs_nothing_beside_it(written: tuple[Run, str, str]) -> None:
    _, html, _ = written
    assert set(Tags(html).loads) == {"script"}  # its own
    assert not re.search(r'(src|href)="(?!#)', html.replace('xlink:href="#', 'href="#'))
    assert "url(http" not in html
    assert "@import" not in html


def test_charts_are_whole_svg_in_the_pages_colour(written: tuple[Run, str, str]) -> None:
    _, html, _ = written
    charts = re.findall(r"<svg.*?</svg>", html, flags=re.DOTALL)
    assert len(charts) == 5  # standings, parameters, spans, layers, calibration; too few trials for effects
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
        assert "Layer by layer" in page
        assert all(record.id in page for record in run.trials())
        assert "grid, none" in page or "searcher grid, scheduler none" in page
    lines = markdown.splitlines()
    for above, below in itertools.pairwise(lines):
        if above.startswith("|") and below.startswith("|"):
            assert above.count("|") == below.count("|"), (above, below)
    assert html.count("<tr") == html.count("</tr>")


def test_the_same_run_gives_the_same_page(written: tuple[Run, str, str]) -> None:
    run, html, markdown = written
    write(ReportConfig(runs=(str(run.path),), mlflow=False), QUIET)
    assert (run.path / "report.html").read_text() == html
    assert (run.path / "report.md").read_text() == markdown


@pytest.mark.parametrize(
    ("low", "high", "word"),
    [(0.01, 0.05, "better"), (-0.01, 0.05, "a tie"), (0.0, 0.05, "a tie"), (-0.05, -0.01, "worse")],
)
def test_no_more_is_said_than_the_interval_allows(low: float, high: float, word: str) -> None:
    assert Delta(value=0.02, low=low, high=high).word == word


def test_the_encoder_is_judged_by_its_own_figures(small: Small) -> None:
    facts = gather(small.run)
    encoder = facts.standing(ENCODER)
    assert encoder is not None
    assert small.store.manifest.baseline is not None
    assert encoder.score == pytest.approx(small.store.manifest.baseline.report_score)
    assert (encoder.delta, verdict(encoder.delta)) == (None, "–")
    best = facts.standing("best head")
    assert best is not None
    assert best.score == facts.ranked[0].report_score
    assert best.delta is not None
    assert best.delta.value == pytest.approx(best.score - encoder.score)


def test_questions_with_and_without_an_answer_are_told_apart(small: Small) -> None:
    encoder = next(each for each in span_facts(gather(small.run)) if each.role == ENCODER)
    assert small.store.manifest.baseline is not None
    metrics = small.store.manifest.baseline.report
    assert encoder.has_answer == pytest.approx(metrics["HasAns_exact"])
    assert encoder.no_answer == pytest.approx(metrics["NoAns_exact"])
    assert (encoder.alone, encoder.lost) == (0, 0)


def test_without_predictions_of_the_encoder_no_head_stands_in_for_it(small: Small) -> None:
    facts = gather(small.run)
    others = Standings(all=[each for each in facts.standings if each.role != ENCODER])
    heads = replace(facts, compared=others)
    for found in span_facts(heads):
        assert (found.alone, found.lost, found.alone_words, found.lost_words) == (None,) * 4
    table = render(heads).markdown.partition("## With an answer, and without")[2].partition("##")[0]
    assert table.count("| – | – |\n") == len(others.all)


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


def test_one_sentence_says_whether_a_head_is_a_gain_and_one_whether_the_ensemble_is(
    small: Small, run: Run
) -> None:
    teach(small, run, "0001", 0.6, seed=1)
    teach(small, run, "0003", 0.7, seed=2)
    decide(EnsembleConfig(runs=(str(run.path),), mlflow=False), QUIET)
    said = summary(gather(run))
    for subject in ("best head", "ensemble"):
        (line,) = [line for line in said if line.startswith(f"The {subject} is a gain: +")]
        assert line in render(gather(run)).markdown


def test_a_report_says_which_rows_chose(small: Small, run: Run) -> None:
    """Heads and ensemble each by their own: of runs together an ensemble may have fewer."""
    teach(small, run, "0001", 0.6, seed=1)
    teach(small, run, "0003", 0.7, seed=2)
    rows = set(role_index(small.store, Role.SELECT)["row"].to_pylist())
    assert f"were chosen on {len(rows)} rows of select." in render(gather(run)).markdown
    decide(EnsembleConfig(runs=(str(run.path),), mlflow=False), QUIET)
    chosen = run.ensemble() or {}
    run.write_ensemble({**chosen, "chosen_on": {"rows": 1234, "out_of_fold": True}})
    assert "It was chosen on 1,234 rows out of fold." in summary(gather(run))
    alone = {**chosen, "method": "single", "members": chosen["members"][:1]}
    run.write_ensemble(alone)
    (line,) = [line for line in summary(gather(run)) if line.startswith("No combination")]
    name = chosen["members"][0]["name"]
    assert line == f"No combination of models did better on {len(rows)} rows of select than {name} alone."


def test_no_page_calls_a_result_a_gain_that_a_probe_reaches_too(small: Small, run: Run) -> None:
    teach(small, run, "0003", 0.9)
    teach(small, run, "probe-2", 0.89)
    page = render(gather(run))
    assert "The best head is a tie, and no gain" in page.markdown
    assert "is a gain" not in page.markdown + page.html


def test_a_smallest_head_that_is_a_rung_is_said_to_be_one(small: Small, run: Run) -> None:
    teach(small, run, "0003", 0.9)
    teach(small, run, "probe-2", 0.89)
    (line,) = [line for line in summary(gather(run)) if line.startswith("The smallest head")]
    assert "is a rung of the ladder: probe-2, with " in line


def test_each_layer_has_its_probe_and_its_weight(small: Small) -> None:
    facts = gather(small.run)
    layers = find_layers(facts)
    assert layers is not None
    assert layers.pooling is not None
    assert layers.together is not None
    assert (layers.pooling.id, layers.together.id) == ("0001", "probe-all")
    assert [layer.channel for layer in layers.each] == ["embeddings", "layer 1", "layer 2"]
    assert [probe.id for _, probe in layers.probes] == ["probe-0", "probe-1", "probe-2"]
    assert np.sum([layer.weight or 0.0 for layer in layers.each]) == pytest.approx(1.0)
    table = render(facts).markdown.partition("## Layer by layer")[2].partition("\n## ")[0]
    assert [line.split(" | ")[0] for line in table.splitlines() if line.startswith("|")][2:] == [
        "| embeddings",
        "| layer 1",
        "| layer 2",
        "| all together",
    ]


def test_copies_of_a_pooling_have_the_mean_of_their_weights(small: Small, tmp_path: Path) -> None:
    run = make_run(small.store, tmp_path / "folded", folds=3)
    layers = find_layers(gather(run))
    assert layers is not None
    assert layers.pooling is not None
    heads = load_heads(run.trial_folder(layers.pooling.id))
    each = [parameter for head in heads for name, parameter in head.named_parameters() if "logits_L" in name]
    assert len(each) == 3
    mean_L = torch.stack([logits_L.detach().softmax(dim=0) for logits_L in each]).mean(dim=0)
    assert [layer.weight for layer in layers.each] == pytest.approx(mean_L.tolist())


def test_probes_stand_alone_where_no_pooling_was_learned(small: Small) -> None:
    facts = gather(small.run)
    probes = replace(facts, records=[record for record in facts.records if record.id != "0001"])
    layers = find_layers(probes)
    assert layers is not None
    assert layers.pooling is None
    assert {layer.weight for layer in layers.each} == {None}
    assert "equal weights" not in (layers_chart(layers, "f1") or "")


def test_weights_stand_alone_where_no_probe_was_made(small: Small) -> None:
    facts = gather(small.run)
    layers = find_layers(replace(facts, records=facts.searched))
    assert layers is not None
    assert layers.probes == []
    assert "equal weights" in (layers_chart(layers, "f1") or "")
    assert find_layers(replace(facts, records=[])) is None


def test_names_cannot_put_markup_on_the_page(run: Run) -> None:
    run.change_study(name="<script>alert(1)</script>", searcher="a|b")
    write(ReportConfig(runs=(str(run.path),), mlflow=False), QUIET)
    assert "<script>alert" not in (run.path / "report.html").read_text()


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
    assert [each["model"] for each in value["standings"]][:2] == ["majority", "encoder"]
    best = next(each for each in value["standings"] if each["model"] == "best head")
    assert best["over_below"]["model"] == "probe"
    assert best["over_ladder"]["verdict"] in {"better", "a tie", "worse"}
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
