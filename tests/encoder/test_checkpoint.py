import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import RobertaConfig, RobertaForSequenceClassification

from bv_search.encoder.checkpoint import find_device, load_base, load_encoder, load_untrained, save_checkpoint
from bv_search.encoder.location import locate_encoder
from bv_search.errors import EncoderError, OutputError
from bv_search.files import folder_being_made
from bv_search.tasks.registry import find_task
from tests.full_disk import no_room


def test_a_folder_that_is_no_stage_has_shapes_but_no_predictions(encoder_folder: Path) -> None:
    encoder = load_encoder(encoder_folder)
    assert (encoder.layers, encoder.width, encoder.has_pooler, encoder.predicts) == (3, 32, True, False)
    assert encoder.stage is None
    assert encoder.identity.id == str(encoder_folder)


def test_parameters_are_those_of_the_whole_encoder_whatever_the_task(encoder_folder: Path) -> None:
    base = load_encoder(encoder_folder)
    assert base.parameters == sum(p.numel() for p in base.model.parameters())
    spans = load_untrained(locate_encoder(encoder_folder), find_task("squad2-span"), seed=0)
    assert spans.model.base_model.pooler is None
    assert load_encoder(encoder_folder, task=find_task("squad2-span")).parameters == base.parameters


def test_a_new_head_is_the_same_for_the_same_seed(encoder_folder: Path) -> None:
    source, task = locate_encoder(encoder_folder), find_task("mrpc")
    heads = [load_untrained(source, task, seed=seed).model.classifier.weight for seed in (0, 0, 1)]
    assert torch.equal(heads[0], heads[1])
    assert not torch.equal(heads[0], heads[2])


@pytest.mark.parametrize("labels", [2, 3])
def test_a_head_that_the_checkpoint_has_of_another_task_is_forgotten(
    encoder_folder: Path, tmp_path: Path, labels: int
) -> None:
    other = load_untrained(
        locate_encoder(encoder_folder), find_task("mnli" if labels == 3 else "rte"), seed=7
    )
    save_checkpoint(tmp_path / "other", other)
    base, again = (
        load_untrained(locate_encoder(folder), find_task("mrpc"), seed=0).model
        for folder in (encoder_folder, tmp_path / "other")
    )
    assert base.state_dict().keys() == again.state_dict().keys()
    assert all(torch.equal(each, again.state_dict()[name]) for name, each in base.state_dict().items())


def test_all_of_such_a_head_is_forgotten(encoder_folder: Path, tmp_path: Path) -> None:
    config = RobertaConfig(
        vocab_size=27, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64
    )
    folder = shutil.copytree(encoder_folder, tmp_path / "roberta")
    RobertaForSequenceClassification(config).save_pretrained(folder)
    was = load_file(folder / "model.safetensors")
    model = load_untrained(locate_encoder(folder), find_task("mrpc"), seed=0).model
    same = {name for name, each in model.state_dict().items() if torch.equal(each, was[name])}
    assert {name for name in was if "weight" in name} - same == {
        "classifier.dense.weight",
        "classifier.out_proj.weight",
    }


def test_loading_leaves_the_global_random_numbers_alone(encoder_folder: Path) -> None:
    torch.manual_seed(7)
    expected = torch.rand(1)
    torch.manual_seed(7)
    load_untrained(locate_encoder(encoder_folder), find_task("mrpc"), seed=0)
    assert torch.equal(torch.rand(1), expected)


def test_a_task_head_carries_the_task(encoder_folder: Path) -> None:
    source = locate_encoder(encoder_folder)
    config = load_untrained(source, find_task("mrpc"), seed=0).model.config
    assert config.id2label == dict(enumerate(find_task("mrpc").labels))
    assert load_untrained(source, find_task("stsb"), seed=0).model.config.problem_type == "regression"


def test_an_encoder_saved_without_its_pooler_has_none(encoder_folder: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(encoder_folder, tmp_path / "copy")
    weights = {n: w for n, w in load_file(copy / "model.safetensors").items() if "pooler" not in n}
    save_file(weights, copy / "model.safetensors", metadata={"format": "pt"})
    encoder = load_encoder(copy)
    assert not encoder.has_pooler
    assert encoder.encode([[2, 5, 3]], [[0, 0, 0]]).pooler_BH is None


def test_an_encoder_with_too_few_positions_is_refused(short_encoder: Path) -> None:
    with pytest.raises(EncoderError, match=r"too short for task mrpc; expected 128 positions; found 64"):
        load_encoder(short_encoder, task=find_task("mrpc"))


def test_a_device_that_is_not_there_is_refused() -> None:
    assert find_device("auto").type in {"cpu", "cuda"}
    with pytest.raises(EncoderError, match="no such device here"):
        find_device("abacus")


def test_the_untouched_encoder_keeps_its_pooler(encoder_folder: Path) -> None:
    assert load_base(locate_encoder(encoder_folder)).model.pooler is not None


def test_weights_without_room_are_one_clear_line_and_nothing_is_left(
    encoder_folder: Path, tmp_path: Path
) -> None:
    checkpoint = load_base(locate_encoder(encoder_folder))
    with (
        no_room(beyond=10_000),
        pytest.raises(OutputError, match=r"stage: cannot be written; found Error while serializing"),
        folder_being_made(tmp_path / "stage") as folder,
    ):
        save_checkpoint(folder, checkpoint)
    assert list(tmp_path.iterdir()) == []
