"""A model that was exported and carried elsewhere, and what its card tells a reader to run."""

import re
import shutil
from pathlib import Path

import pytest

from bv_search.command import Progress
from bv_search.export.config import ExportConfig
from bv_search.export.export import run as export
from tests.model.small_run import Small


@pytest.fixture(scope="session")
def exported(small: Small, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The best head, carried elsewhere."""
    place = tmp_path_factory.mktemp("exported")
    result = export(ExportConfig(run=str(small.run.path), to=str(place / "made")), Progress(quiet=True))
    return Path(shutil.move(result.folder, place / "elsewhere"))


def python_on(card: Path) -> str:
    """The example of a card, as a reader would run it."""
    (block,) = re.findall(r"```python\n(.*?)```", card.read_text(), re.DOTALL)
    return str(block)
