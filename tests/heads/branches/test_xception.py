"""Xception along the width, with the layers as channels."""

from dataclasses import replace

import pytest
import torch

from bv_search.heads.config import HeadShape, head_from_json
from bv_search.heads.head import Head
from bv_search.heads.pack import Pack

TOKENS = HeadShape(layers=7, width=32, outputs=2, per_token=False, tokens=128)
ONE_TOKEN = replace(TOKENS, tokens=1)


@pytest.mark.parametrize("width", [9, 10, 11, 12, 17, 32])
@pytest.mark.parametrize("form", ["abbreviated", "full"])
def test_an_xception_works_from_its_least_width_on(form: str, width: int) -> None:
    config = head_from_json({"kind": "xception", "form": form})
    head = Head(config, replace(ONE_TOKEN, width=width)).initialise(0)
    hidden_LTH, lengths_N = torch.randn(ONE_TOKEN.layers, 3, width), torch.tensor([1, 1, 1])

    (learning_NC,) = Pack([head])({None: hidden_LTH}, lengths_N, step=0)
    learning_NC.square().sum().backward()  # type: ignore[no-untyped-call]
    (scored_NC,) = Pack([head])({None: hidden_LTH}, lengths_N)

    assert scored_NC.shape == (3, ONE_TOKEN.outputs)
    for tensor in (learning_NC, scored_NC, *(parameter.grad for parameter in head.parameters())):
        assert tensor is not None
        assert tensor.isfinite().all()
