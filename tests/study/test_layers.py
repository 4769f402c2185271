"""What each layer is worth, by its probe and by its weight in a learned pooling."""

import pytest

from bv_search.study.folder import StudyFolder
from bv_search.study.layers import StageLayers, study_layers


def found(**changes: object) -> StageLayers:
    usual = {"channels": ("embeddings", "layer 1"), "probes": (0.2, 0.4), "weights": (0.5, 0.5)}
    return StageLayers(**{"stage": 1.0, "together": None, **usual, **changes})  # type: ignore[arg-type]


def test_the_best_layer_is_that_of_the_best_probe() -> None:
    assert found().best_probe == "layer 1"
    assert found(probes=(0.2, None)).best_probe == "embeddings"
    assert found(probes=(-0.2, 0.0)).best_probe == "layer 1"
    assert found(probes=(None, None)).best_probe is None


def test_probes_and_weights_stand_by_layer_and_stage(made: StudyFolder) -> None:
    (table,) = study_layers(made).tables
    names = [column.name for column in table.columns]
    assert names == ["layer", "probe 0.3", "probe 1", "weight 0.3", "weight 1"]
    *layers, together = table.rows
    assert [row[0] for row in layers] == ["embeddings", "layer 1", "layer 2"]
    scores = [entry.report for entry in made.probes[1.0]]
    assert [*(row[2] for row in layers), together[2]] == scores
    assert sum(float(row[4] or 0) for row in layers) == pytest.approx(1.0)


def test_a_sentence_names_the_best_layer(made: StudyFolder) -> None:
    *probes, together = made.probes[1.0]
    best = max(probes, key=lambda entry: entry.report)
    sentence = study_layers(made).sentences[-1]
    assert f"the best layer by a linear probe is {best.title.removeprefix('linear probe of ')}: " in sentence
    assert sentence.endswith(f"one on all layers {together.report:.4f}.")
