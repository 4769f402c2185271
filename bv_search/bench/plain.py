"""Heads as one writes them by hand in PyTorch: linear layers, autograd, torch's Adam, one head at a time."""

from collections.abc import Iterable
from typing import assert_never, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from bv_search.heads.config import AdapterHead, HeadShape, LinearHead, MlpHead, PooledAdapterHead, PoolingHead
from bv_search.scan.batch import Batch
from bv_search.scan.loss import LOSSES
from bv_search.scan.state import HeadState
from bv_search.tasks.task import Kind

PlainConfig = LinearHead | MlpHead | PoolingHead | AdapterHead | PooledAdapterHead


class PlainHead(nn.Module):
    def __init__(self, config: PlainConfig, shape: HeadShape) -> None:
        super().__init__()
        self._config = config
        self.mix_L = nn.Parameter(torch.zeros(shape.layers))
        self.skip = isinstance(config, AdapterHead | PooledAdapterHead) and config.skip
        self.down = nn.ModuleList()
        features = shape.width
        match config:
            case LinearHead():
                features = shape.width * (shape.layers if config.channels == "all" else 1)
            case MlpHead():
                features = config.size
                self.down.append(nn.Linear(shape.layers * shape.width, config.size))
            case AdapterHead():
                features = shape.layers * config.size
                bottlenecks = 1 if config.shared else shape.layers
                self.down.extend(nn.Linear(shape.width, config.size) for _ in range(bottlenecks))
            case PooledAdapterHead():
                features = config.size
                self.down.append(nn.Linear(shape.width, config.size))
            case PoolingHead():
                pass
            case _:
                assert_never(config)
        self.dense = nn.Linear(features + (shape.width if self.skip else 0), shape.outputs)

    def forward(self, hidden_LTH: Tensor) -> Tensor:
        """logits_TC."""
        features_TF = self._features(hidden_LTH)
        if self.skip:
            features_TF = torch.cat([features_TF, hidden_LTH[-1]], dim=1)
        logits_TC: Tensor = self.dense(features_TF)
        return logits_TC

    def _features(self, hidden_LTH: Tensor) -> Tensor:
        if isinstance(self._config, LinearHead):
            channels = self._config.channels
            return hidden_LTH.transpose(0, 1).flatten(1) if channels == "all" else hidden_LTH[channels]
        if isinstance(self._config, MlpHead):
            return functional.gelu(self.down[0](hidden_LTH.transpose(0, 1).flatten(1)))
        if isinstance(self._config, AdapterHead):
            if self._config.shared:
                features_LTA = functional.gelu(self.down[0](hidden_LTH))
            else:
                pairs = zip(self.down, hidden_LTH, strict=True)
                features_LTA = functional.gelu(torch.stack([down(hidden_TH) for down, hidden_TH in pairs]))
            return features_LTA.transpose(0, 1).flatten(1)
        pooled_TH = self._pooled(hidden_LTH)
        return functional.gelu(self.down[0](pooled_TH)) if self.down else pooled_TH

    def _pooled(self, hidden_LTH: Tensor) -> Tensor:
        if self._config.pooling == "average":  # type: ignore[union-attr]
            return hidden_LTH.mean(dim=0)
        return torch.einsum("l,lth->th", self.mix_L.softmax(dim=0), hidden_LTH)


def train_plain(state: HeadState, batches: Iterable[Batch], labels_ND: np.ndarray, kind: Kind) -> None:
    """One head on whatever batches; the loss is the packs' own."""
    training = state.config.training
    head = PlainHead(cast("PlainConfig", state.config.head), state.shape)
    optimiser = torch.optim.AdamW(
        head.parameters(), lr=training.learning_rate, weight_decay=training.weight_decay
    )
    for batch in batches:
        labels = torch.from_numpy(labels_ND[batch.windows])
        (hidden_LTH,) = batch.states.values()
        loss = LOSSES[kind](head(hidden_LTH).float()[None], batch.lengths_N, labels, None).sum()
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
