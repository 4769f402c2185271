"""Steps are done one after the other, in a folder that goes on as it was begun."""

from dataclasses import replace
from pathlib import Path

import pytest

from bv_search.command import Progress
from bv_search.errors import OutputError, RunError, UserError
from bv_search.study.config import SETTINGS
from bv_search.study.folder import StudyFolder
from bv_search.study.work import check_inputs, check_settings, do_steps, holding, read_seconds
from tests.study.conftest import configured


def test_a_folder_remembers_what_it_was_begun_with(made: StudyFolder) -> None:
    with holding(made.config):
        assert (made.config.out / SETTINGS).is_file()
    check_settings(replace(made.config, stages=(0.3, 1.0, 2.0)))
    with pytest.raises(OutputError, match=r"expected trials None, seeds 1; found trials 5, seeds 3"):
        check_settings(replace(made.config, seeds=3, trials=5))


def test_one_writer_at_a_time_holds_it(made: StudyFolder) -> None:
    with (
        holding(made.config),
        pytest.raises(RunError, match="is being written by someone else"),
        holding(made.config),
    ):
        pass


def test_where_all_is_done_nothing_begins(made: StudyFolder) -> None:
    do_steps(replace(made.config, only=("curve",)), Progress(quiet=True))
    assert read_seconds(made.config.out) == {}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"space": "adapter"}, "did you mean 'adapters'"),
        ({"heads": "adapters"}, "is no grid of heads"),
        ({"task": "mprc"}, "did you mean 'mrpc'"),
        ({"encoder": "/nowhere"}, "/nowhere"),
    ],
)
def test_a_misspelt_word_is_told_before_the_first_step(
    changes: dict[str, str], message: str, inputs: Path, tiny_encoder: Path, tmp_path: Path
) -> None:
    config = configured(inputs, tiny_encoder, tmp_path / "out")
    check_inputs(config)
    with pytest.raises(UserError, match=message):
        check_inputs(replace(config, **changes))  # type: ignore[arg-type]
