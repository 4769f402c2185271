"""The way of a row that ARCHITECTURE.md describes is the one that it goes."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from bv_search.command import Progress
from bv_search.ensemble.config import EnsembleConfig
from bv_search.ensemble.ensemble import run as decide
from bv_search.model.combine import Method
from bv_search.predict.config import PredictConfig
from bv_search.predict.predict import run as predict
from tests.model.small_run import make_run, make_small
from tests.report.test_kinds import write_data

REPOSITORY = Path(__file__).resolve().parents[2]
QUIET = Progress(quiet=True)
MOST_HOPS = 25


def hops() -> list[str]:
    """As folder/module.function."""
    page = (REPOSITORY / "ARCHITECTURE.md").read_text(encoding="utf-8")
    _, _, section = page.partition("## One line of a TSV file")
    block = "\n".join(re.findall(r"^ {4}(\S.*|  +→.*)$", section.partition("\n## ")[0], re.MULTILINE))
    return re.findall(r"[a-z_]+(?:/[a-z_]+)+\.\w+", block)


@contextmanager
def calls() -> Iterator[list[str]]:
    """Each function of the package, in the order in which they are called first."""
    package, first = REPOSITORY / "bv_search", dict[str, None]()

    def note(frame: FrameType, event: str, _: Any) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(package):
            name = f"{path.relative_to(package).with_suffix('')}.{frame.f_code.co_name}"
            first.setdefault(name)

    called: list[str] = []
    sys.setprofile(note)
    try:
        yield called
    finally:
        sys.setprofile(None)
        called.extend(first)


def test_a_row_goes_the_way_that_is_described(tiny_encoder: Path, tmp_path: Path) -> None:
    data = write_data(tmp_path / "data", "sst2")
    store = make_small("sst2", tiny_encoder, data, tmp_path / "work", fraction=1.0).store
    run = make_run(store, tmp_path / "run", folds=2).path
    decide(EnsembleConfig(runs=(str(run),), method=Method.MEAN, mlflow=False), QUIET)
    out = tmp_path / "answers.tsv"
    with calls() as called:
        predict(PredictConfig(place=str(run), data=str(data / "dev.tsv"), out=str(out)), QUIET)

    described = hops()
    assert 15 < len(described) == len(set(described)) <= MOST_HOPS
    assert [name for name in called if name in described] == described
