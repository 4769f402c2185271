import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoModel, DistilBertConfig, ElectraConfig, PreTrainedConfig, RobertaConfig

from bv_search.encoder.checkpoint import load_encoder, load_untrained, wrap
from bv_search.encoder.location import locate_encoder
from bv_search.tasks.registry import find_task

IDS = [[2, 5, 6, 7, 3], [2, 8, 3]]
TYPES = [[0, 0, 0, 1, 1], [0, 0, 0]]
SMALL: dict[str, Any] = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 64,
}


def test_hidden_states_are_the_embeddings_and_every_layer(encoder_folder: Path) -> None:
    encoded = load_encoder(encoder_folder).encode(IDS, TYPES)
    assert encoded.hidden_LBSH.shape == (3, 2, 5, 32)
    assert encoded.lengths == (5, 3)
    model = AutoModel.from_pretrained(encoder_folder).eval()
    with torch.no_grad():
        alone = model(torch.tensor(IDS[1:]), output_hidden_states=True)
        embedded = model.embeddings(torch.tensor(IDS[1:]))
    torch.testing.assert_close(encoded.hidden_LBSH[:, 1, :3], torch.stack(alone.hidden_states)[:, 0])
    torch.testing.assert_close(encoded.hidden_LBSH[0, 1, :3], embedded[0])
    assert encoded.pooler_BH is not None
    torch.testing.assert_close(encoded.pooler_BH[1], alone.pooler_output[0])


def test_token_types_matter(encoder_folder: Path) -> None:
    encoder = load_encoder(encoder_folder)
    one, other = encoder.encode(IDS[:1], TYPES[:1]), encoder.encode(IDS[:1], [[0] * 5])
    assert not torch.allclose(one.hidden_LBSH, other.hidden_LBSH)


def test_an_encoder_that_was_never_fine_tuned_has_no_logits(encoder_folder: Path) -> None:
    assert load_encoder(encoder_folder).encode(IDS, TYPES).logits is None


def test_logits_have_the_shape_of_the_task(encoder_folder: Path) -> None:
    for name, shape in {"squad2-span": (2, 5, 2), "mrpc": (2, 2), "mnli": (2, 3), "stsb": (2, 1)}.items():
        task = find_task(name)
        checkpoint = load_untrained(locate_encoder(encoder_folder), task, seed=0)
        encoder = wrap(checkpoint, task=task, stage=None, predicts=True, device=torch.device("cpu"))
        encoded = encoder.encode(IDS, TYPES)
        assert encoded.logits is not None
        assert encoded.logits.shape == shape
        assert torch.equal(encoder.predict(IDS, TYPES), encoded.logits)
        assert encoder.has_pooler is (encoded.pooler_BH is not None) is (name != "squad2-span")


def test_a_head_can_be_trained_on_hidden_states(encoder_folder: Path) -> None:
    hidden = load_encoder(encoder_folder).encode(IDS, TYPES).hidden_LBSH
    head = torch.nn.Linear(32, 2)
    head(hidden).sum().backward()
    assert head.weight.grad is not None
    assert not hidden.requires_grad


@pytest.mark.parametrize(
    ("config", "pooler"),
    [
        (RobertaConfig(vocab_size=60, max_position_embeddings=514, type_vocab_size=1, **SMALL), True),
        (ElectraConfig(vocab_size=60, embedding_size=16, **SMALL), False),
        (DistilBertConfig(vocab_size=60, dim=32, n_layers=2, n_heads=2, hidden_dim=64), False),
    ],
    ids=["roberta", "electra", "distilbert"],
)
@pytest.mark.parametrize("name", ["squad2-span", "mrpc"])
def test_other_architectures_are_encoders_too(
    config: PreTrainedConfig, pooler: bool, name: str, encoder_folder: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(
        encoder_folder, tmp_path / "other", ignore=shutil.ignore_patterns("*.safetensors")
    )
    AutoModel.from_config(config).save_pretrained(folder)
    encoder = load_encoder(folder, task=find_task(name))
    assert (encoder.layers, encoder.width, encoder.has_pooler) == (3, 32, pooler)
    assert encoder.tokenizer.model_max_length == 512
    together, alone = encoder.encode(IDS, TYPES), encoder.encode(IDS[1:], TYPES[1:])
    torch.testing.assert_close(together.hidden_LBSH[:, 1:, :3], alone.hidden_LBSH)
    checkpoint = load_untrained(locate_encoder(folder), find_task(name), seed=0)
    tuned = wrap(checkpoint, task=find_task(name), stage=None, predicts=True, device=torch.device("cpu"))
    assert tuned.predict(IDS, TYPES).shape == ((2, 5, 2) if name == "squad2-span" else (2, 2))


def test_autocast_is_close_and_half_as_wide(encoder_folder: Path) -> None:
    encoder = load_encoder(encoder_folder)
    full, half = encoder.encode(IDS, TYPES), encoder.encode(IDS, TYPES, dtype=torch.bfloat16)
    torch.testing.assert_close(half.hidden_LBSH.float(), full.hidden_LBSH, atol=0.1, rtol=0.1)
