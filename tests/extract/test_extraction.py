"""What extraction writes: every window at its place, in the seeded order, as the encoder alone gives it."""

import io
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from bv_search.command import Progress
from bv_search.encoder.checkpoint import load_encoder
from bv_search.encoder.predictions import predict_logits
from bv_search.errors import BvError, EncoderError, OutputError, UserError
from bv_search.extract.config import ExtractConfig
from bv_search.extract.extraction import run
from bv_search.store.store import Store
from tests.extract.conftest import Extract


def test_a_cut_that_large_groups_spoil_is_told_once(
    config: Callable[..., ExtractConfig], pairs: Path, tmp_path: Path
) -> None:
    data = tmp_path / "frequent"
    data.mkdir()
    lines = [f"{n % 2}\t{n}\t{n}\t{'the same' if n < 95 else n}\tsecond {n}" for n in range(100)]
    header = (pairs / "train.tsv").read_text().splitlines()[0]
    (data / "train.tsv").write_text("\n".join([header, *lines]) + "\n")
    (data / "dev.tsv").write_text((pairs / "dev.tsv").read_text())
    told = io.StringIO()
    run(config(data=str(data)), Progress(stream=told))
    assert told.getvalue().count("select has 2 of 100 rows where 50 were wanted: ") == 1


def test_the_encoders_own_logits_and_scores_come_free(extract: Extract, stage: Path) -> None:
    result = extract()
    store = Store.open(result.store)
    encoder = load_encoder(stage)
    for split in store.splits():
        logits = split.encoder_logits()
        assert logits is not None
        alone = predict_logits(encoder, split.index)
        np.testing.assert_allclose(np.stack(logits), np.stack(alone), atol=1e-4)
    dev = store.split("dev")
    logits = dev.encoder_logits()
    assert logits is not None
    assert store.manifest.baseline is not None
    expected = store.task.evaluate(dev.index, logits)
    assert store.manifest.baseline.report_score == expected.score
    assert result.to_json()["metrics"] == {**expected.metrics, "score": expected.score}


def test_spans_keep_all_tokens_and_an_encoder_that_predicts_nothing_has_no_baseline(
    extract: Extract, tiny_encoder: Path, generated_data: Path
) -> None:
    result = extract(task="squad2-span", encoder=str(tiny_encoder), data=str(generated_data))
    store = Store.open(result.store)
    assert store.manifest.layers == ("embeddings", "layer 1", "layer 2")
    assert store.manifest.baseline is None
    assert result.to_json()["metrics"] is None
    assert store.split("train").encoder_logits() is None
    train = store.split("train")
    assert train.lengths.tolist() == train.index["length"].to_pylist()
    assert result.tokens == store.manifest.stored_tokens


def test_answers_that_are_lost_to_the_tokenizer_are_told(
    config: Callable[..., ExtractConfig], tiny_encoder: Path, generated_data: Path, lossy_data: Path
) -> None:
    told = {}
    for data in (generated_data, lossy_data):
        stream = io.StringIO()
        changes = {
            "task": "squad2-span",
            "encoder": str(tiny_encoder),
            "out": f"{config().out}-{data.parent.name}",
        }
        run(config(data=str(data), **changes), Progress(stream=stream))
        told[data] = stream.getvalue()
    assert re.search(r"^1 of \d+ answers could not be placed in any window: ", told[lossy_data], re.MULTILINE)
    assert "could not be placed" not in told[generated_data]


def test_the_same_command_again_finds_all_done(extract: Extract) -> None:
    first, second = extract(), extract()
    assert (first.encoded_blocks, second.encoded_blocks) == (first.blocks, 0)
    assert second.manifest == first.manifest
    assert second.to_json()["metrics"] == first.to_json()["metrics"]


def test_nothing_but_the_store_is_left(extract: Extract, tmp_path: Path) -> None:
    result = extract()
    listed = {entry.file for entry in result.manifest.files()} | {"manifest.json"}
    found = {path.relative_to(tmp_path / "store").as_posix() for path in (tmp_path / "store").rglob("*.*")}
    assert found == listed
    assert result.bytes == sum((tmp_path / "store" / name).stat().st_size for name in listed)


def test_a_folder_with_something_else_is_left_alone(extract: Extract, tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    (tmp_path / "store/thesis.txt").write_text("years of work")
    with pytest.raises(OutputError, match=r"already holds something else.*thesis.txt"):
        extract()
    assert [path.name for path in (tmp_path / "store").iterdir()] == ["thesis.txt"]


@pytest.mark.parametrize(
    ("changes", "error", "said"),
    [
        ({"layers": (0, 3)}, UserError, r"expected 0 \(embeddings\) to 2; found 3"),
        ({"layers": (1, 1)}, UserError, "--layers is wrong"),
        ({"task": "mrcp"}, UserError, "did you mean 'mrpc'"),
        ({"task": "rte"}, EncoderError, "is a stage of another task"),
        ({"data": "/nowhere"}, UserError, "/nowhere: does not exist"),
        ({"encoder": "/nowhere"}, EncoderError, "/nowhere"),
        ({"workers": -1}, UserError, "--workers is too small"),
        ({"dtype": "int8"}, UserError, "no dtype named 'int8'"),
        ({"repair": True}, UserError, "there is no store to repair"),
    ],
)
def test_bad_input_is_refused_before_any_work(
    extract: Extract, tmp_path: Path, changes: dict[str, object], error: type[BvError], said: str
) -> None:
    with pytest.raises(error, match=said):
        extract(**changes)
    assert not (tmp_path / "store").exists()
