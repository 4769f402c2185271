"""Encoder and heads as one ONNX file, which says what torch says before it is anybody's."""

import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch

from bv_search.encoder.batches import read_tokens
from bv_search.encoder.encoder import Encoder, pad_batch
from bv_search.errors import HeadError, UserError
from bv_search.export.graph import Graph
from bv_search.files import write_bytes
from bv_search.model.answer import live_logits
from bv_search.model.model import Model
from bv_search.precision import FLOAT32
from bv_search.tasks.task import Task
from bv_search.tasks.votes import Votes

ONNX = "onnx/model.onnx"
NEEDED = ("onnx", "onnxscript", "onnxruntime")
TOLERANCE = 0.005  # of a probability; of a value, of its size
MOST_BYTES = (1 << 31) - (1 << 20)  # of a message of protobuf
EXAMPLE = (3, 7)  # windows and tokens of the batch that is traced: all sizes are free
BATCHES = (1, 8)  # windows at once, in turn, where it is checked


@dataclass(frozen=True, kw_only=True)
class OnnxAgreement:
    """What ONNX Runtime says beside what torch says."""

    windows: int
    most: float  # that a probability, or a value, differs by
    alike: int  # rows with the same answer …
    rows: int  # … of these
    precision: str  # of the forward pass in the run
    moved: float  # that the file's own, of 32 bits, moves the same

    def __str__(self) -> str:
        text = (
            f"On {self.windows} windows of report ONNX Runtime and torch differ by at most {self.most:.1g} "
            f"({TOLERANCE} is allowed), and {self.alike} of {self.rows} answers are the same."
        )
        if self.precision == FLOAT32:
            return text
        return (
            f"{text} Both read the encoder in {FLOAT32}; the run read it in {self.precision}, which moves "
            f"the same numbers by up to {self.moved:.1g} there."
        )


def require_onnx() -> None:
    """Before any work."""
    if absent := [name for name in NEEDED if find_spec(name) is None]:
        raise UserError(
            "--onnx needs packages that are not installed",
            expected=", ".join(NEEDED),
            found=f"no {', '.join(absent)}",
            do="pip install 'bv-search[onnx]'",
        )


def check_size(model: Model, encoder: Encoder) -> None:
    """Refuse what one file cannot hold."""
    size = 4 * (model.parameters + sum(each.numel() for each in encoder.model.parameters()))
    if size > MOST_BYTES:
        raise HeadError(
            "is too large for one ONNX file",
            where=model.name,
            expected=f"at most {MOST_BYTES:,} bytes",
            found=f"{size:,}",
            do="leave --onnx away",
        )


def write_onnx(path: Path, model: Model, encoder: Encoder) -> None:
    """The forward pass is one of 32 bits, whatever the store was made with."""
    windows, tokens = EXAMPLE
    pad, graph = encoder.model.config.pad_token_id or 0, Graph(model, encoder).eval()
    ids = [[pad] * (tokens - row) for row in range(windows)]
    inputs = pad_batch(encoder.model, ids, ids, encoder.device)
    inputs = {
        name: torch.zeros_like(each) if name == "token_type_ids" else each for name, each in inputs.items()
    }
    free = {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}
    try:
        with torch.no_grad(), _silence():
            program = torch.onnx.export(
                graph,
                kwargs=inputs,
                dynamo=True,
                dynamic_shapes=dict.fromkeys(inputs, free),
                input_names=list(inputs),
                output_names=["logits"],
                verbose=False,
            )
    except Exception as error:  # the exporter fails in whatever way it comes to
        raise _impossible(model, error) from error
    assert program is not None, "the exporter gives a program"
    write_bytes(path, program.model_proto.SerializeToString())


def _impossible(model: Model, error: Exception) -> HeadError:
    found, do = _first_line(error), "leave --onnx away"
    return HeadError("cannot be written as ONNX", where=model.name, found=found, do=do)


def _first_line(error: BaseException) -> str:
    """Of what was wrong at first: the exporter wraps it several times."""
    while error.__cause__ is not None:
        error = error.__cause__
    return next(iter(str(error).splitlines()), type(error).__name__)


def check_onnx(path: Path, model: Model, encoder: Encoder, windows: pa.Table) -> OnnxAgreement:
    """Refuses a file that differs by more than is allowed."""
    wide = replace(model, channels=replace(model.channels, precision=FLOAT32))
    expected = live_logits(wide, encoder, windows)
    try:
        found = _onnx_logits(path, model, encoder, windows)
    except Exception as error:  # what was traced may hold at one length alone
        raise _impossible(model, error) from error
    task = model.task
    most, moved = _apart(found, expected, task), _apart(live_logits(model, encoder, windows), expected, task)
    said, own = task.answers(windows, found), task.answers(windows, expected)
    alike = sum(_same(one, other, task) for one, other in zip(said, own, strict=True))
    if not most <= TOLERANCE:
        raise HeadError(
            "says something else as ONNX",
            where=model.name,
            expected=f"what torch says, within {TOLERANCE}",
            found=f"a difference of {most:.3g}",
            do="leave --onnx away",
        )
    return OnnxAgreement(
        windows=windows.num_rows,
        most=most,
        alike=alike,
        rows=len(own),
        precision=model.channels.precision,
        moved=moved,
    )


def _onnx_logits(path: Path, model: Model, encoder: Encoder, windows: pa.Table) -> list[np.ndarray]:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # errors alone
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    ids, types = read_tokens(windows, "token_ids"), read_tokens(windows, "type_ids")
    found: list[np.ndarray] = []
    for batch in _batches(len(ids)):
        inputs = pad_batch(encoder.model, ids[batch], types[batch], encoder.device)
        (logits,) = session.run(None, {name: each.numpy() for name, each in inputs.items()})
        pairs = zip(logits, ids[batch], strict=True)
        found += [model.task.unpadded(own, len(tokens)) for own, tokens in pairs]
    return found


def _batches(windows: int) -> Iterator[slice]:
    start = number = 0
    while start < windows:
        size = BATCHES[number % len(BATCHES)]
        yield slice(start, start + size)
        start, number = start + size, number + 1


def _apart(found: Sequence[np.ndarray], expected: Sequence[np.ndarray], task: Task) -> float:
    """The largest difference of probabilities, or of values as shares of their size."""
    one, other = (Votes.of(said, task.kind).values for said in (found, expected))
    scale = np.maximum(1.0, np.abs(other)) if task.is_number else 1.0
    return float((np.abs(one - other) / scale).max())


def _same(one: dict[str, Any], other: dict[str, Any], task: Task) -> bool:
    if task.is_number:
        return bool(
            abs(one["prediction"] - other["prediction"]) <= TOLERANCE * max(1.0, abs(other["prediction"]))
        )
    return bool(one["prediction"] == other["prediction"])


@contextmanager
def _silence() -> Iterator[None]:
    """The exporter tells of packages that nobody asked for."""
    logger = logging.getLogger("torch.onnx")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(before)
