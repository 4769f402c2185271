"""A head by itself says what it says in a pack, padding or none."""

from pathlib import Path

import numpy as np
import pytest
import torch

from bv_search.errors import HeadError
from bv_search.heads.alone import HeadAlone
from bv_search.heads.config import HeadShape, head_from_json
from bv_search.heads.copies import save_heads
from bv_search.heads.head import Head
from bv_search.heads.inputs import Standard, prepare
from bv_search.heads.pack import Pack
from bv_search.tasks.task import Kind
from bv_search.tasks.votes import mean_logits

L, T, H = 3, 5, 8
LENGTHS = torch.tensor([5, 2, 3])


def make(shape: HeadShape, copies: int = 1) -> list[Head]:
    config = head_from_json({"kind": "adapter", "size": 4})
    inputs = Standard.of(np.full((L, H), 0.5), np.full((L, H), 2.0))
    return [Head(config, shape, inputs).initialise(seed) for seed in range(copies)]


def by_pack(heads: list[Head], hidden_LTH: torch.Tensor, lengths_N: torch.Tensor) -> list[torch.Tensor]:
    return Pack(heads)(prepare(hidden_LTH.clone(), [heads[0].inputs]), lengths_N)


@pytest.mark.parametrize("copies", [1, 3])
def test_one_token_a_window(tmp_path: Path, copies: int) -> None:
    heads = make(HeadShape(layers=L, width=H, outputs=2, per_token=False, tokens=1), copies)
    save_heads(heads, tmp_path / "head")
    head = HeadAlone.from_pretrained(tmp_path / "head")
    hidden_NLH = torch.randn(4, L, H)
    before = hidden_NLH.clone()
    said = by_pack(head._pack.heads, hidden_NLH.transpose(0, 1), torch.ones(4, dtype=torch.int64))
    expected = mean_logits([each.detach().numpy() for each in said], Kind.CLASSIFICATION)
    found = head(hidden_NLH)
    np.testing.assert_allclose(found.detach().numpy(), expected, rtol=1e-5, atol=1e-6)
    assert torch.equal(hidden_NLH, before)
    assert head.parameter_count() == sum(each.parameter_count() for each in heads)


def test_a_head_of_one_copy_can_be_learned_on(tmp_path: Path) -> None:
    head = HeadAlone(make(HeadShape(layers=L, width=H, outputs=1, per_token=False, tokens=1)))
    head(torch.randn(4, L, H)).sum().backward()
    assert all(parameter.grad is not None for parameter in head.parameters())


@pytest.mark.parametrize("copies", [1, 2])
def test_padding_changes_no_span(copies: int) -> None:
    head = HeadAlone(make(HeadShape(layers=L, width=H, outputs=2, per_token=True, tokens=T), copies))
    hidden_NLTH = torch.randn(3, L, T, H)
    logits_NT2 = head(hidden_NLTH, LENGTHS)
    assert logits_NT2.shape == (3, T, 2)
    hidden_NLTH[1, :, 2:] = 1e6
    assert torch.equal(head(hidden_NLTH, LENGTHS), logits_NT2)
    assert torch.isinf(logits_NT2[1, 2:]).all()
    alone = head(hidden_NLTH[2:, :, :3])
    torch.testing.assert_close(alone[0], logits_NT2[2, :3], rtol=1e-5, atol=1e-5)


def test_other_shapes_are_refused() -> None:
    head = HeadAlone(make(HeadShape(layers=L, width=H, outputs=2, per_token=False, tokens=1)))
    for shape in ((4, L, H + 1), (4, H), (4, L, T, H), (0, L, H)):
        with pytest.raises(HeadError, match=r"expected a tensor \(windows, 3, 8\)"):
            head(torch.zeros(shape))


def test_what_would_be_lost_or_misread_is_refused() -> None:
    head = HeadAlone(make(HeadShape(layers=L, width=H, outputs=2, per_token=True, tokens=T)))
    with pytest.raises(HeadError, match=r"hidden states get no gradient .* detach\(\) it"):
        head(torch.randn(3, L, T, H, requires_grad=True))
    for wrong in ([0, 5, 5], [6, 5, 5], [5, 5], [5, 5, -1]):
        with pytest.raises(
            HeadError, match="lengths are not those of the windows; expected 3 numbers from 1 to 5"
        ):
            head(torch.randn(3, L, T, H), torch.tensor(wrong))
