"""Exporting: a model of a run into a new folder, which answers as the run does before it is there."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from bv_search.command import Progress
from bv_search.encoder.encoder import Encoder
from bv_search.errors import OutputError, UserError
from bv_search.export.card import CARD, ModelCard
from bv_search.export.config import ExportConfig
from bv_search.export.figures import Figures
from bv_search.export.onnx import ONNX, check_onnx, check_size, require_onnx, write_onnx
from bv_search.files import absolute_if_there, check_makeable, folder_being_made, home_path
from bv_search.model.answer import live_logits
from bv_search.model.loading import model_of_run
from bv_search.model.model import ENCODER_NAME, Model, check_new
from bv_search.run.folder import Run
from bv_search.run.roles import open_store
from bv_search.scan.store_view import role_index
from bv_search.tasks.row import Role
from bv_search.tasks.window import WINDOW_SCHEMA

TRIED = 32  # windows of report


@dataclass(frozen=True, kw_only=True)
class ExportResult:
    folder: Path
    model: Model
    figures: Figures
    size: int  # bytes of all files
    checked: tuple[str, ...]  # what was compared, and how well it agreed

    def text(self) -> str:
        own, metric = self.figures.own, self.figures.metric
        low, high = own.interval
        return "\n".join(
            [
                f"{self.model.name} in {self.folder}, {self.size / 1e6:,.1f} MB",
                f"{metric} {own.score:.4f} ({low:.4f} to {high:.4f}) on report rows",
                *self.checked,
                f"next: read {self.folder / CARD}; bv-search predict {self.folder} --data FILE",
            ]
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "folder": str(self.folder),
            "model": self.model.name,
            "bytes": self.size,
            "score": self.figures.own.score,
            "interval": list(self.figures.own.interval),
            "parameters": self.model.parameters,
            "checked": list(self.checked),
        }


def run(config: ExportConfig, progress: Progress) -> ExportResult:
    """The folder appears once what it holds has answered rows of the run as the run's own model does."""
    to = home_path(config.to)
    check_new(to)
    check_makeable(to.parent)
    if config.onnx:
        require_onnx()
    found = Run.open(config.run)
    store, model = open_store(found), _model(found, config)
    figures = Figures.of(found, store, config.member)
    encoder = model.load_encoder(device="cpu")
    if config.onnx:
        check_size(model, encoder)
    windows = role_index(store, Role.REPORT, WINDOW_SCHEMA.names).slice(0, TRIED)
    progress.say(f"export: {model.name} of {found.path}")
    with folder_being_made(to) as part:
        model.write_into(part, encoder=encoder.folder if config.bundle else None)
        checked = [_check(model, encoder, Model.from_pretrained(part), windows)]
        if config.onnx:
            progress.say("export: encoder and head as one ONNX file")
            write_onnx(part / ONNX, model, encoder)
            checked.append(str(check_onnx(part / ONNX, model, encoder, windows)))
        ModelCard(
            name=to.name,
            model=model,
            encoder=encoder,
            figures=figures,
            bundled=config.bundle,
            onnx=checked[-1] if config.onnx else None,
        ).write(part)
    size = sum(path.stat().st_size for path in to.rglob("*") if path.is_file())
    return ExportResult(folder=to, model=model, figures=figures, size=size, checked=tuple(checked))


def _model(run: Run, config: ExportConfig) -> Model:
    """As others will find it: no store of this machine, and the encoder where it is now."""
    if config.member == ENCODER_NAME:
        raise UserError("the encoder has no heads to export", expected="a trial, best, smallest or ensemble")
    model = replace(model_of_run(run, config.member), store=None)
    place = absolute_if_there(config.encoder or model.encoder.place)
    return replace(model, encoder=replace(model.encoder, place=place))


def _check(model: Model, encoder: Encoder, written: Model, windows: pa.Table) -> str:
    """Whatever was written says the same, to the bit."""
    expected = live_logits(model, encoder, windows)
    found = live_logits(written, written.load_encoder(device="cpu"), windows)
    if not all(map(np.array_equal, found, expected)):
        raise OutputError("does not answer as the run does", where=written.name, do="export it again")
    return f"{windows.num_rows} windows of report are answered as by the run's own model, to the bit."
