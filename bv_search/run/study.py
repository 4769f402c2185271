"""What a run set out to do: the question, resolved, so that the folder explains itself."""

import platform
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from importlib.metadata import PackageNotFoundError, version
from math import isfinite
from typing import Annotated, Any
from uuid import uuid4

from bv_search.command import AUTO
from bv_search.document import Count, Positive, Range, Share, Text, one_of
from bv_search.errors import RunError
from bv_search.files import decode_at
from bv_search.heads.config import RAW, STANDARD
from bv_search.precision import FLOAT32, PRECISIONS

FORMAT_VERSION = 2
SCORE, FRONT = "score", "score,parameters"
RIDE = "ride"  # a source, too: heads learned from the states of fine-tuning itself, of which no store is left
OBJECTIVES = (SCORE, FRONT)
TaskEntry = Annotated[
    Mapping[str, Any],
    Range("the description of a task, with its name", lambda value: isinstance(value.get("name"), str)),
]
SpaceEntry = Annotated[
    Mapping[str, Any], Range("a search space", lambda value: isinstance(value.get("name", ""), str))
]
BaselineEntry = Annotated[
    Mapping[str, Any], Range("scores on select and report", lambda value: all(map(_is_score, value.values())))
]
WATCHED = ("bv-search", "torch", "transformers", "ray", "optuna", "hyperopt", "mlflow", "numpy", "pyarrow")


def versions() -> dict[str, str]:
    """What a result was measured with."""
    found = {"python": platform.python_version()}
    for name in WATCHED:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


@dataclass(frozen=True, kw_only=True)
class Study:
    """Everything that a resumed or repeated search must agree with."""

    name: Text  # the run's name
    space: SpaceEntry  # the resolved search space, as in its YAML
    store: Text  # path or URL of the activation store
    store_digest: str  # of its manifest
    task: TaskEntry  # the task's to_json(), with its "name"
    searcher: str
    scheduler: str
    trials: Count  # how many in all
    seed: Count
    pack: str  # heads per pass: "auto" or a number
    generation: Positive | None  # trials under way at once; None: as many as memory holds
    data_fraction: Share  # of the rows that heads learn from
    encoder_parameters: Count  # what `percent` is of; 0: nobody knows
    baseline: BaselineEntry | None = None  # the encoder's own scores, by the rows that judge heads
    folds: Positive = 1  # copies of each head
    finalists: Count = 0  # heads that learn once more at the end, from all rows
    seeds: Positive = 3  # copies of each of these
    room: Positive | None = None  # heads of a pack that memory has room for, where that is to say
    ladder: bool = True  # whether it begins with the ladder
    workers: Positive | None = None  # None: as many as there are GPUs, or one
    objective: str = SCORE  # or several, with commas between them: the search looks for a front
    target: float | None = None  # on select: a head that reaches it ends the search
    patience: Positive | None = None  # trials in a row without a new best that end the search
    source: str = "store"  # of hidden states: "store", "live", "ride"; "auto" until it has been decided
    precision: Annotated[str, one_of(AUTO, *PRECISIONS)] = FLOAT32  # of wide products; auto until decided
    values: Annotated[str, one_of(RAW, STANDARD)] = RAW  # as heads of a regression learn them; at first, raw
    versions: Mapping[str, str] = field(default_factory=versions)
    id: Text = field(default_factory=lambda: uuid4().hex)  # tells runs of one name apart on a shared server
    format_version: int = FORMAT_VERSION

    @property
    def seeks_front(self) -> bool:
        return self.objective == FRONT

    @property
    def task_name(self) -> str:
        return str(self.task["name"])

    def to_json(self) -> dict[str, Any]:
        return {item.name: _plain(getattr(self, item.name)) for item in fields(self)}

    @classmethod
    def from_json(cls, value: Mapping[str, Any], where: object = None) -> "Study":
        known = {item.name for item in fields(cls)}
        required = {i.name for i in fields(cls) if i.default is MISSING and i.default_factory is MISSING}
        if not isinstance(value, dict) or value.get("format_version") != FORMAT_VERSION:
            raise RunError(
                "is of another format version",
                where=where,
                expected=FORMAT_VERSION,
                found=value.get("format_version") if isinstance(value, dict) else repr(value),
                do="read it with the version of bv_search that wrote it",
            )
        if missing := sorted(required - value.keys()):
            raise RunError("lacks fields of a study", where=where, found=", ".join(missing))
        if unknown := sorted(value.keys() - known):
            raise RunError("has fields that no study has", where=where, found=", ".join(unknown))
        return decode_at(cls, value, RunError, where=where, what="is no study")


def _is_score(value: object) -> bool:
    """A number, or several by their names."""
    if isinstance(value, dict):
        return all(type(each) in (int, float) and isfinite(each) for each in value.values())
    return type(value) in (int, float)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
