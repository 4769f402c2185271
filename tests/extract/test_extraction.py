"""What extraction writes: every window at its place, in the seeded order, as the encoder alone gives it."""

import io
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from bv_search.command import Progress
from bv_search.encoder.batches import read_tokens
from bv_search.encoder.checkpoint import load_encoder
from bv_search.encoder.predictions import predict_logits
from bv_search.errors import BvError, EncoderError, OutputError, UserError
from bv_search.extract.config import ExtractConfig
from bv_search.extract.extraction import run
from bv_search.store.dtype import widen
from bv_search.store.layout import seeded_order
from bv_search.store.store import Store
from bv_search.store.verify import find_damage
from bv_search.tasks.dataset import load_dataset
from bv_search.tasks.registry import find_task
from tests.extract.conftest import Extract


def windows_of(store: Store, split: str) -> list[np.ndarray]:
    """hidden_LTH of every window, in float32."""
    found = []
    for block in store.split(split).blocks():
        ends = np.cumsum(block.lengths)
        for start, end in zip(ends - block.lengths, ends, strict=True):
            found.append(widen(block.hidden_LTH[:, start:end], store.manifest.dtype))
    return found


def encode_alone(
    store: Store, encoder_folder: Path, split: str
) -> list[tuple[torch.Tensor, torch.Tensor | None]]:
    """(L, S, H) of every window, encoded by itself, and the pooler output."""
    encoder = load_encoder(encoder_folder, task=store.task)
    index = store.split(split).index
    found = []
    for ids, types in zip(read_tokens(index), read_tokens(index, "type_ids"), strict=True):
        encoded = encoder.encode([ids], [types])
        found.append((encoded.hidden_LBSH[:, 0], encoded.pooler_BH))
    return found


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("fmt", ["npy", "parquet"])
def test_first_tokens_and_pooler_are_stored_by_default(
    extract: Extract, stage: Path, fmt: str, dtype: str
) -> None:
    result = extract(format=fmt, dtype=dtype)
    store = Store.open(result.store)
    assert store.manifest.layers == ("embeddings", "layer 1", "layer 2", "pooler")
    assert store.manifest.shape == (4, 32)
    alone = encode_alone(store, stage, "train")
    for stored, (hidden_LSH, pooler_1H) in zip(windows_of(store, "train"), alone, strict=True):
        assert stored.shape == (4, 1, 32)
        assert pooler_1H is not None
        np.testing.assert_allclose(stored[:3], hidden_LSH[:, :1], atol=0.03)
        np.testing.assert_allclose(stored[3], pooler_1H.numpy(), atol=0.03)
    assert not any(find_damage(store))


def test_all_tokens_of_chosen_layers(extract: Extract, stage: Path) -> None:
    store = Store.open(extract(tokens="all", layers=(2, 0)).store)
    assert store.manifest.layers == ("layer 2", "embeddings")
    alone = encode_alone(store, stage, "dev")
    for stored, (hidden_LSH, _) in zip(windows_of(store, "dev"), alone, strict=True):
        np.testing.assert_allclose(stored, hidden_LSH[[2, 0]], atol=0.01)


def test_mean_tokens(extract: Extract, stage: Path) -> None:
    store = Store.open(extract(tokens="mean").store)
    assert store.manifest.layers == ("embeddings", "layer 1", "layer 2")
    alone = encode_alone(store, stage, "select")
    for stored, (hidden_LSH, _) in zip(windows_of(store, "select"), alone, strict=True):
        np.testing.assert_allclose(stored, hidden_LSH.mean(1, keepdim=True), atol=0.01)


def test_windows_stand_in_the_seeded_order_with_role_and_seen(extract: Extract, pairs: Path) -> None:
    store = Store.open(extract(seed=7).store)
    rows = load_dataset(find_task("mrpc"), str(pairs)).split("train").rows
    order = seeded_order(len(rows), 7, "train")
    index = store.split("train").index
    assert index["row"].to_pylist() == [rows[number].id for number in order]
    seen = index["seen"].to_numpy()
    assert [bool(each) for each in seen] == [bool(number < 10) for number in order]
    assert {name: split.role for name, split in store.manifest.splits.items()} == {
        "train": "train",
        "select": "select",
        "dev": "report",
    }


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


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"dtype": "bfloat16"}, "dtype: float16 there, bfloat16 here"),
        ({"seed": 1}, "seed: 0 there, 1 here"),
        ({"layers": (0,)}, "layers: "),
        ({"tokens": "mean"}, "tokens: first there, mean here"),
        ({"batch_tokens": 64}, "batch_tokens: 1024 there, 64 here"),
    ],
)
def test_changed_settings_are_refused_with_what_differs(
    extract: Extract, changes: dict[str, object], named: str
) -> None:
    result = extract()
    with pytest.raises(OutputError, match=rf"holds a store with other settings; found .*{named}"):
        extract(**changes)
    assert not any(find_damage(Store.open(result.store)))


def test_another_encoder_and_other_data_are_refused(
    extract: Extract, tiny_encoder: Path, tmp_path: Path
) -> None:
    from tests.extract.conftest import write_pairs

    extract()
    (tmp_path / "other").mkdir()
    write_pairs(tmp_path / "other", seed=1)
    with pytest.raises(OutputError, match="found data: xxh3:"):
        extract(data=str(tmp_path / "other"))
    with pytest.raises(OutputError, match=r"encoder\.digest"):
        extract(encoder=str(tiny_encoder))


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


def test_a_span_task_refuses_to_lose_its_positions(
    extract: Extract, tiny_encoder: Path, generated_data: Path
) -> None:
    with pytest.raises(UserError, match="--tokens first keeps no positions"):
        extract(task="squad2-span", encoder=str(tiny_encoder), data=str(generated_data), tokens="first")


def test_an_overflow_stops_with_its_layer_and_commits_nothing(
    extract: Extract, hot: Path, tmp_path: Path
) -> None:
    with pytest.raises(BvError, match=r"a value of channel 'layer 2' does not fit float16.*--dtype bfloat16"):
        extract(encoder=str(hot))
    assert not (tmp_path / "store/manifest.json").exists()
    Store.open(extract(encoder=str(hot), dtype="bfloat16", out=str(tmp_path / "other")).store)
