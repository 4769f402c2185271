"""What is asked of `predict`."""

from dataclasses import dataclass
from typing import Annotated

from bv_search.command import AUTO
from bv_search.options import Option


@dataclass(frozen=True, kw_only=True)
class PredictConfig:
    place: Annotated[
        str, Option("a run, a trial's folder, a head or a saved model", metavar="RUN|HEAD", positional=True)
    ]
    member: Annotated[
        str | None, Option("of a run: a trial, best, smallest, ensemble or encoder", metavar="NAME")
    ] = None
    store: Annotated[
        str | None, Option("answer the report rows of this store, by its hidden states", metavar="STORE")
    ] = None
    data: Annotated[
        str | None,
        Option("answer these rows; of a folder its report rows", metavar="FILE"),
    ] = None
    encoder: Annotated[
        str | None,
        Option(
            "where the model's encoder is now, for --data or a store that keeps no hidden states",
            metavar="FOLDER",
        ),
    ] = None
    out: Annotated[
        str | None,
        Option(
            "a new file ending in .json, .jsonl or .tsv (default: predictions/MODEL-NAME in RUN|HEAD, "
            "replaced; NAME is that of --data's or --store's file)",
            metavar="FILE",
        ),
    ] = None
    overwrite: Annotated[bool, Option("replace --out if it exists")] = False
    device: Annotated[str, Option("of the encoder: auto, cpu, cuda …")] = AUTO
