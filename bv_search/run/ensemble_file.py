"""What is believed of an ensemble.json: the members and what they came to; more stands in it for readers."""

from dataclasses import dataclass
from typing import Annotated, Literal

from bv_search.document import Count, Range, Text
from bv_search.run.events import Name

ENSEMBLE_VERSION: Literal[2] = 2
Weight = Annotated[float, Range("a number above 0", lambda value: value > 0)]


@dataclass(frozen=True, kw_only=True)
class MemberEntry:
    name: Text
    run: Text
    trial: Name | None
    weight: Weight


@dataclass(frozen=True, kw_only=True)
class EnsembleFile:
    method: Literal["single", "max", "mean", "greedy"]
    members: Annotated[tuple[MemberEntry, ...], Range("a member or more", lambda value: len(value) > 0)]
    score: float
    select_score: float
    heads: Count | None = None
    format_version: Literal[2] = ENSEMBLE_VERSION
