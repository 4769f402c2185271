"""One ONNX file says what torch says, for every kind of task and head."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("onnxruntime", reason="of the extra onnx")

from bv_search.command import Progress
from bv_search.encoder.checkpoint import load_encoder
from bv_search.encoder.encoder import Encoder
from bv_search.errors import HeadError, UserError
from bv_search.export import onnx
from bv_search.export.config import ExportConfig
from bv_search.export.export import run as export
from bv_search.heads.config import FlatAdapterHead, HeadConfig, HeadShape, fits
from bv_search.heads.head import Head
from bv_search.model.combine import Method
from bv_search.model.loading import model_of_run
from bv_search.model.model import Member, Model
from bv_search.scan.store_view import role_index
from bv_search.source.channels import Channels
from bv_search.source.reference import EncoderReference
from bv_search.store.layout import POOLER, channel_name
from bv_search.tasks.dataset import load_dataset
from bv_search.tasks.registry import find_task
from bv_search.tasks.row import Role, Row
from bv_search.tasks.task import Kind
from bv_search.tasks.window import WINDOW_SCHEMA
from tests.heads.test_padded import EVERY_KIND, some_head
from tests.model.small_run import Small


def model_of(
    heads: list[Head], task_name: str, encoder: Encoder, channels: Channels, method: Method
) -> Model:
    identity = encoder.identity
    return Model(
        task=find_task(task_name),
        encoder=EncoderReference(
            id=identity.id, revision=None, digest=identity.digest, place=str(encoder.folder)
        ),
        channels=channels,
        method=method if len(heads) > 1 else Method.SINGLE,
        members=tuple(Member(name=str(number), heads=[head]) for number, head in enumerate(heads)),
    )


def channels_of(encoder: Encoder, tokens: str, *, pooler: bool = False) -> Channels:
    layers = tuple(channel_name(layer) for layer in range(encoder.layers)) + ((POOLER,) if pooler else ())
    return Channels(layers=layers, tokens=tokens, dtype="float16", width=encoder.width)


def shape_of(channels: Channels, task_name: str) -> HeadShape:
    task = find_task(task_name)
    return HeadShape(
        layers=len(channels.layers),
        width=channels.width,
        outputs=task.outputs,
        per_token=task.kind is Kind.SPAN,
        tokens=task.max_length if channels.tokens == "all" else 1,
    )


def check(model: Model, encoder: Encoder, data: Path, path: Path) -> onnx.OnnxAgreement:
    rows = load_dataset(find_task("squad2-span"), str(data)).split("dev").rows[:12]
    bare = [Row(id=row.id, text_a=row.text_a, text_b=row.text_b) for row in rows]
    windows = model.task.windows(bare, encoder.tokenizer)
    onnx.write_onnx(path, model, encoder)
    return onnx.check_onnx(path, model, encoder, windows)


def test_an_ensemble_of_copies_and_its_encoder_is_one_file(small: Small, tmp_path: Path) -> None:
    heads = [model_of_run(small.run, trial) for trial in ("0001", "0002", "0003", "encoder")]
    pair = replace(heads[0].members[0], heads=[*heads[0].heads, *heads[0].heads])
    members = (pair, *(each.members[0] for each in heads[1:]))
    model = replace(heads[0], method=Method.MAX, members=members)
    encoder = model.load_encoder(device="cpu")
    windows = role_index(small.store, Role.REPORT, WINDOW_SCHEMA.names)
    onnx.write_onnx(tmp_path / "model.onnx", model, encoder)
    agreement = onnx.check_onnx(tmp_path / "model.onnx", model, encoder, windows)
    assert agreement.windows == windows.num_rows
    assert agreement.most < onnx.TOLERANCE

    (tmp_path / "broken.onnx").write_bytes(b"no graph")
    with pytest.raises(HeadError, match=r"cannot be written as ONNX; found .*; leave --onnx away"):
        onnx.check_onnx(tmp_path / "broken.onnx", model, encoder, windows)
    other = replace(model, members=members[1:2], method=Method.SINGLE)
    with pytest.raises(HeadError, match="says something else as ONNX; expected what torch says, within"):
        onnx.check_onnx(tmp_path / "model.onnx", other, encoder, windows)


def test_what_is_too_large_for_one_file_is_refused(small: Small, monkeypatch: pytest.MonkeyPatch) -> None:
    model = model_of_run(small.run, "0001")
    monkeypatch.setattr(onnx, "MOST_BYTES", 1000)
    with pytest.raises(HeadError, match="is too large for one ONNX file; expected at most 1,000 bytes"):
        onnx.check_size(model, model.load_encoder(device="cpu"))


def test_a_package_that_is_missing_is_told_first(
    small: Small, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(onnx, "NEEDED", ("onnx", "onnx_of_tomorrow"))
    config = ExportConfig(run=str(small.run.path), to=str(tmp_path / "made"), onnx=True)
    with pytest.raises(UserError, match=r"found no onnx_of_tomorrow; pip install 'bv-search\[onnx\]'"):
        export(config, Progress(quiet=True))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("config", EVERY_KIND, ids=lambda config: config.name)
@pytest.mark.parametrize("task", ["squad2-span", "squad2-answerable"])
def test_every_kind_of_head_reads_all_tokens(
    task: str, config: HeadConfig, tiny_encoder: Path, generated_data: Path, tmp_path: Path
) -> None:
    encoder = load_encoder(tiny_encoder, device="cpu")
    channels = channels_of(encoder, "all")
    shape = shape_of(channels, task)
    if isinstance(config, FlatAdapterHead):
        config = replace(config, tokens=find_task(task).max_length)
    if not fits(config, shape):
        pytest.skip("no head for this task")
    model = model_of([some_head(config, shape, 1)], task, encoder, channels, Method.SINGLE)
    agreement = check(model, encoder, generated_data, tmp_path / "model.onnx")
    assert agreement.most < onnx.TOLERANCE


@pytest.mark.slow
@pytest.mark.parametrize("method", [Method.MEAN, Method.GREEDY])
@pytest.mark.parametrize("tokens", ["first", "mean"])
@pytest.mark.parametrize("task", ["stsb", "mrpc"])
def test_heads_that_read_one_token_are_combined(
    task: str, tokens: str, method: Method, tiny_encoder: Path, generated_data: Path, tmp_path: Path
) -> None:
    encoder = load_encoder(tiny_encoder, device="cpu")
    channels = channels_of(encoder, tokens, pooler=tokens == "first" and encoder.has_pooler)
    shape = shape_of(channels, task)
    fitting = [config for config in EVERY_KIND if fits(config, shape)]
    heads = [some_head(config, shape, number) for number, config in enumerate(fitting)]
    model = model_of(heads, task, encoder, channels, method)
    weighted = tuple(replace(each, weight=1.0 + n % 3) for n, each in enumerate(model.members))
    agreement = check(replace(model, members=weighted), encoder, generated_data, tmp_path / "model.onnx")
    assert agreement.most < onnx.TOLERANCE
    assert np.isfinite(agreement.most)
