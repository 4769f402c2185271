"""What is asked of `export`."""

from dataclasses import dataclass
from typing import Annotated

from bv_search.model import BEST
from bv_search.options import Option


@dataclass(frozen=True, kw_only=True)
class ExportConfig:
    run: Annotated[str, Option("the folder of a run", metavar="RUN", positional=True)]
    to: Annotated[str, Option("a new folder: whole, or not there", metavar="FOLDER")]
    member: Annotated[str, Option("a trial, best, smallest or ensemble", metavar="NAME")] = BEST
    encoder: Annotated[str | None, Option("where the model's encoder is now", metavar="FOLDER")] = None
    bundle: Annotated[bool, Option("name the encoder, and leave it out", name="--no-encoder")] = True
    onnx: Annotated[bool, Option("add onnx/model.onnx, checked against torch on rows of the run")] = False
