"""A stage and the heads that ride on it are scored in one pass, as each would be by itself."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from bv_search.encoder.checkpoint import load_encoder
from bv_search.encoder.encoder import Encoder
from bv_search.finetune.scoring import OwnReading, SharedReading, labels_of_windows
from bv_search.finetune.stage_folder import SavedStage
from bv_search.heads.copies import load_heads
from bv_search.heads.head import Head
from bv_search.run.folder import Run
from bv_search.source.channels import Channels
from bv_search.tasks.dataset import load_dataset
from bv_search.tasks.registry import find_task
from bv_search.tasks.row import Role


@pytest.fixture(scope="module")
def encoder(ridden: list[SavedStage]) -> Encoder:
    return load_encoder(ridden[-1].path)


@pytest.fixture(scope="module")
def windows(encoder: Encoder, rte_folder: Path) -> pa.Table:
    task = find_task("rte")
    return task.windows(load_dataset(task, str(rte_folder)).rows(Role.REPORT), encoder.tokenizer)


def shared(encoder: Encoder, windows: pa.Table, heads: list[Head]) -> SharedReading:
    layers = ("embeddings", "layer 1", "layer 2", "pooler")
    channels = Channels(layers=layers, tokens="first", dtype="float32", width=encoder.width)
    return SharedReading(encoder, windows, heads, channels=channels, shape=heads[0].shape)


def test_labels_are_those_of_the_windows(windows: pa.Table) -> None:
    labels_ND = labels_of_windows(windows)
    assert labels_ND.shape == (30, 1)
    assert labels_ND.dtype == np.float32
    assert labels_ND[:, 0].tolist() == [label for (label,) in windows.column("label").to_pylist()]


def test_the_encoder_answers_the_same_with_heads_and_without(
    encoder: Encoder, windows: pa.Table, ridden: list[SavedStage]
) -> None:
    assert ridden[-1].heads is not None
    run = Run.open(ridden[-1].heads.path)
    records = run.trials()
    heads = [head for record in records for head in load_heads(run.head_folder(record.id))]
    alone, together = OwnReading(encoder, windows), shared(encoder, windows, heads)
    assert list(alone.read())[-1] == list(together.read())[-1] == 30
    np.testing.assert_array_equal(np.stack(alone.own), np.stack(together.own))
    assert alone.verdicts == []
    scores = [None if verdict is None else verdict.score for verdict in together.verdicts]
    assert scores == [record.report_score for record in records], "as they were scored at their stage"


def test_a_head_whose_answers_are_no_numbers_has_no_verdict(
    encoder: Encoder, windows: pa.Table, ridden: list[SavedStage]
) -> None:
    assert ridden[-1].heads is not None
    (head,) = load_heads(Run.open(ridden[-1].heads.path).head_folder("0000"))
    for parameter in head.parameters():
        parameter.data.fill_(float("nan"))
    reading = shared(encoder, windows, [head])
    assert list(reading.read())
    assert reading.verdicts == [None]
