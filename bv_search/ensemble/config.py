"""What is asked of `ensemble`."""

from dataclasses import dataclass
from typing import Annotated

from bv_search.model.combine import Method
from bv_search.options import Option
from bv_search.words import positive_int


@dataclass(frozen=True, kw_only=True)
class EnsembleConfig:
    runs: Annotated[
        tuple[str, ...],
        Option("folders of runs on one task and store; the first keeps it", metavar="RUN", positional=True),
    ]
    method: Annotated[
        Method,
        Option(
            "greedy: the best one, then whoever lowers the loss of the mean most; "
            "mean, max: of the first of the heads, with the encoder or without",
            choices=(Method.GREEDY, Method.MEAN, Method.MAX),
        ),
    ] = Method.GREEDY
    limit: Annotated[int, Option("heads considered", read=positive_int)] = 16
    data: Annotated[str | None, Option("check that the store was made of this data", metavar="PATH")] = None
    mlflow: Annotated[bool, Option("write the run folder only")] = True
