from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch

from bv_search.encoder.checkpoint import load_untrained, wrap
from bv_search.encoder.encoder import Encoder
from bv_search.encoder.location import locate_encoder
from bv_search.encoder.predictions import predict_logits
from bv_search.tasks.registry import find_task
from bv_search.tasks.row import Row


def predictor(folder: Path, task: str) -> Encoder:
    checkpoint = load_untrained(locate_encoder(folder), find_task(task), seed=0)
    return wrap(checkpoint, task=find_task(task), stage=None, predicts=True, device=torch.device("cpu"))


def test_logits_come_in_the_windows_order_whatever_the_batches(
    encoder_folder: Path, pair_rows: tuple[Row, ...]
) -> None:
    encoder = predictor(encoder_folder, "mrpc")
    windows = find_task("mrpc").windows(pair_rows, encoder.tokenizer)
    wide, narrow = predict_logits(encoder, windows), predict_logits(encoder, windows, batch_tokens=1)
    assert len(wide) == len(pair_rows)
    assert all(logits.shape == (2,) and logits.dtype == np.float32 for logits in wide)
    np.testing.assert_allclose(np.stack(wide), np.stack(narrow), atol=1e-5)
    assert len({tuple(np.round(logits, 5)) for logits in wide}) > 10


def test_spans_have_logits_for_every_token_and_none_for_padding(
    encoder_folder: Path, span_rows: tuple[Row, ...]
) -> None:
    encoder = predictor(encoder_folder, "squad2-span")
    windows = find_task("squad2-span").windows(span_rows, encoder.tokenizer)
    logits = predict_logits(encoder, windows)
    assert [len(each) for each in logits] == windows.column("length").to_pylist()
    score = find_task("squad2-span").evaluate(windows, logits).score
    assert 0 <= score <= 1


def test_windows_of_several_tables_are_predicted_as_one(
    encoder_folder: Path, pair_rows: tuple[Row, ...]
) -> None:
    encoder = predictor(encoder_folder, "mrpc")
    windows = find_task("mrpc").windows(pair_rows, encoder.tokenizer)
    parts = pa.concat_tables([windows.slice(0, 7), windows.slice(7)])
    np.testing.assert_allclose(predict_logits(encoder, parts), predict_logits(encoder, windows), atol=1e-5)


def test_nothing_to_predict_is_nothing(encoder_folder: Path) -> None:
    encoder = predictor(encoder_folder, "mrpc")
    assert predict_logits(encoder, find_task("mrpc").windows((), encoder.tokenizer)) == []


def test_predicting_without_fine_tuning_is_our_bug(encoder_folder: Path) -> None:
    encoder = predictor(encoder_folder, "mrpc")
    with pytest.raises(AssertionError, match="never fine-tuned"):
        replace(encoder, predicts=False).predict([[2, 3]], [[0, 0]])
