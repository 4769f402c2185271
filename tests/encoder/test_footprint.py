from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from transformers import BertConfig, PreTrainedConfig

from bv_search.encoder.encoder import pad_batch
from bv_search.encoder.footprint import Footprint, count_footprint
from bv_search.encoder.location import locate_encoder
from bv_search.encoder.pretrained import read_config
from bv_search.encoder.training import TrainingSettings
from bv_search.tasks.registry import find_task

SETTINGS = TrainingSettings()


def count(config: PreTrainedConfig, windows: int = 4, tokens: int = 64, **settings: Any) -> Footprint:
    task = find_task("squad2-span")
    return count_footprint(config, task, replace(SETTINGS, **settings), windows=windows, tokens=tokens)


@pytest.fixture
def config(encoder_folder: Path) -> PreTrainedConfig:
    return read_config(locate_encoder(encoder_folder))


def kept_for_gradients(config: PreTrainedConfig, *, windows: int, tokens: int) -> int:
    """Bytes, of a real forward pass on the CPU."""
    model = transformers.AutoModelForQuestionAnswering.from_config(config).train()
    own = {each.untyped_storage().data_ptr() for each in model.parameters()}
    kept: dict[int, torch.Tensor] = {}
    ids = [[5] * tokens] * windows
    inputs = pad_batch(model, ids, [[0] * tokens] * windows, torch.device("cpu"))
    inputs["attention_mask"][0, -1] = 0  # or there would be no mask at all

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        return kept.setdefault(tensor.untyped_storage().data_ptr(), tensor)

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        model(**inputs)
    return sum(each.untyped_storage().nbytes() for place, each in kept.items() if place not in own)


def test_the_count_is_of_what_a_real_step_keeps(config: PreTrainedConfig) -> None:
    kept = kept_for_gradients(config, windows=4, tokens=64)
    assert kept <= count(config).activations < 1.25 * kept


def test_weights_gradients_and_optimiser_follow_from_the_parameters(config: PreTrainedConfig) -> None:
    model = transformers.AutoModelForQuestionAnswering.from_config(config)
    size = 4 * sum(each.numel() for each in model.parameters())
    found = count(config)
    assert (found.weights, found.gradients, found.optimiser, found.copies) == (size, size, 2 * size, 0)
    assert count(config, precision="bfloat16").copies == size // 2
    assert found.total == 4 * size + found.activations


def test_half_the_windows_keep_half(config: PreTrainedConfig) -> None:
    assert count(config, windows=2).activations == pytest.approx(count(config).activations / 2, rel=0.05)


def test_bert_large_fits_a_gpu_of_16_gb_by_either_option() -> None:
    """384 tokens, as docs/speed.md has it. Nothing of it is allocated."""
    large = BertConfig(hidden_size=1024, num_hidden_layers=24, num_attention_heads=16, intermediate_size=4096)
    totals = [
        count(large, windows=windows, tokens=384, checkpointing=again).total / 1e9
        for windows, again in ((8, False), (4, False), (8, True), (16, True))
    ]
    assert totals == pytest.approx([16.3, 10.8, 6.2, 7.0], abs=0.1)


def test_the_configuration_is_left_as_it_was(config: PreTrainedConfig) -> None:
    before = config.to_dict()
    count(config)
    assert config.to_dict() == before
