"""The page of studies, and its tables and figures as files of their own."""

from dataclasses import replace
from pathlib import Path

from bv_search.study.config import StudiesConfig
from bv_search.study.curve import study_curve
from bv_search.study.folder import StudyFolder
from bv_search.study.page import command_of, write
from bv_search.study.spent import spent_table


def test_tables_stand_in_three_forms_and_figures_need_no_page(made: StudyFolder) -> None:
    section = study_curve(made)
    written = write(made, [section], spent_table(made.config, {}, {}))
    out = made.config.out
    assert sorted(path.name for path in written.tables) == [
        *("curve.csv", "curve.md", "curve.tex", "spent.csv", "spent.md", "spent.tex")
    ]
    assert (out / "tables" / "curve.csv").read_text() == section.tables[0].csv()
    assert written.figures == (out / "figures" / "curve.svg",)
    assert "currentColor" not in written.figures[0].read_text()


def test_the_page_needs_nothing_beside_it(made: StudyFolder) -> None:
    section = study_curve(made)
    page = write(made, [section], spent_table(made.config, {}, {})).page.read_text()
    assert section.sentences[0] in page.replace("&#39;", "'")
    assert page.count("<svg") == 1
    assert "currentColor" in page
    assert "src=" not in page
    assert "bytes quoted" in page


def test_the_command_goes_on_with_the_same_studies() -> None:
    config = StudiesConfig(
        task="mrpc",
        encoder="bert",
        out=Path("out"),
        stages=(1.0, 0.3),
        fractions=(1.0, 0.5),
        seeds=2,
        keep_stores=False,
    )
    assert command_of(config) == (
        "bv-search study --task mrpc --encoder bert --stages 0.3,1 --fractions 0.5,1 --seeds 2 --cap 1 "
        "--keep-stores no --out out"
    )
    assert "--data 'my data'" in command_of(replace(config, data="my data"))
