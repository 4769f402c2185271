"""What each layer is worth, by probes and by a learned pooling."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from bv_search.heads.copies import load_heads
from bv_search.heads.head import Head
from bv_search.report import layers as module
from bv_search.report.charts import layers_chart
from bv_search.report.facts import gather
from bv_search.report.layers import find_layers
from bv_search.report.page import render
from tests.model.small_run import Small, make_run


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


def test_heads_without_a_learned_pooling_are_not_read(small: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    read = []

    def listen(folder: Path) -> list[Head]:
        read.append(folder.name)
        return load_heads(folder)

    monkeypatch.setattr(module, "load_heads", listen)
    facts = gather(small.run)
    find_layers(replace(facts, records=[record for record in facts.records if record.id != "0002"]))
    assert read == ["0001"]


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
