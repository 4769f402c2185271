"""What this machine does in a second is measured on the encoder and the data themselves."""

from pathlib import Path

import pytest
import torch

from bv_search.command import Progress
from bv_search.scan.trial import TrialConfig
from bv_search.study.rates import MachineRates, measure
from bv_search.tasks.row import Role
from tests.extract.conftest import DEV_ROWS, TRAIN_ROWS
from tests.study.conftest import configured


@pytest.fixture(scope="module")
def rates(inputs: Path, tiny_encoder: Path, tmp_path_factory: pytest.TempPathFactory) -> MachineRates:
    config = configured(inputs, tiny_encoder, tmp_path_factory.mktemp("rates") / "out")
    return measure(config, Progress(quiet=True))


def test_windows_are_counted_by_role(rates: MachineRates) -> None:
    assert rates.windows[Role.REPORT] == DEV_ROWS
    assert rates.windows[Role.TRAIN] + rates.windows[Role.SELECT] == TRAIN_ROWS


def test_sizes_are_those_of_encoder_and_task(rates: MachineRates, tiny_encoder: Path) -> None:
    assert (rates.one_token, rates.stored_tokens) == (True, 1.0)
    assert (rates.shape.layers, rates.shape.width) == (4, 32), (
        "two layers, embeddings and the pooler of a stage"
    )
    assert rates.token_bytes == 4 * 32 * 2
    assert rates.encoder_bytes == sum(path.stat().st_size for path in tiny_encoder.iterdir())
    assert min(rates.finetune, rates.encode) > 0


def test_measuring_heads_leaves_the_threads_as_they_were(rates: MachineRates) -> None:
    head = TrialConfig.from_json({"head": {"kind": "pooling"}, "learning_rate": 0.01})
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        assert rates.seconds_of([head] * 9) > 0
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
