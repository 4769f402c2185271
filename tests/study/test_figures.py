"""Figures of studies show all that was measured, and nothing where there is nothing."""

from pathlib import Path
from xml.etree import ElementTree

from bv_search.study.config import StudiesConfig
from bv_search.study.figures import curve_figure, data_figure, heads_figure, layers_figure, transfer_figure
from bv_search.study.folder import StudyFolder
from bv_search.study.layers import StageLayers


def test_a_curve_needs_a_stage_that_was_scored(made: StudyFolder, tmp_path: Path) -> None:
    empty = StudyFolder(config=StudiesConfig(task="mrpc", encoder="bert", out=tmp_path / "none"))
    assert curve_figure(empty) is None
    figure = curve_figure(made)
    assert figure is not None
    ElementTree.fromstring(figure.svg)
    assert "f1 on report" in figure.svg


def test_every_head_and_every_stage_is_named(made: StudyFolder) -> None:
    svg = heads_figure(made).svg
    for entry in made.heads[1.0]:
        assert f">{entry.title}</text>" in svg
    for stage in ("0.3 epochs", "1 epoch"):
        assert f">{stage}</text>" in svg


def test_shares_of_the_data_are_drawn_by_stage(made: StudyFolder) -> None:
    svg = data_figure(made).svg
    assert ">1</text>" in svg
    assert "% of the training rows that the head learned from" in svg


def test_a_cell_without_a_score_is_left_empty(made: StudyFolder) -> None:
    svg = transfer_figure(made, {(0.3, 0.3): 0.5, (0.3, 1.0): None, (1.0, 0.3): 0.25, (1.0, 1.0): 0.75}).svg
    assert [number in svg for number in (">0.500<", ">0.250<", ">0.750<", ">nan<")] == [True] * 3 + [False]


def test_layers_have_a_figure_for_what_is_known_of_them(made: StudyFolder) -> None:
    probed = StageLayers(
        stage=1.0,
        channels=("embeddings", "layer 1"),
        probes=(0.25, None),
        together=None,
        weights=(None, None),
    )
    (figure,) = layers_figure(made, [probed])
    assert figure.name == "layers-probes"
    assert ">0.25</text>" in figure.svg
