"""Convolutions of every length side by side, on an adapter's features: along the tokens, or along them."""

import torch
from torch import Generator, Tensor, nn
from torch.nn import functional

from bv_search.heads.branches.adapted_mix import OnAdapter
from bv_search.heads.branches.branch import glorot
from bv_search.heads.branches.chunks import in_chunks, kept
from bv_search.heads.branches.convolution import Convolution, initialise_parts
from bv_search.heads.branches.windows import Windows
from bv_search.heads.config import HeadShape, NgramHead


class _Ngrams(OnAdapter):
    def __init__(self, config: NgramHead, shape: HeadShape, *, inputs: int, features: int) -> None:
        super().__init__(shape.layers, shape.width, config.size, learned=config.pooling == "learned")
        lengths = range(1, config.longest + 1)
        self.convolutions = nn.ModuleList(Convolution(inputs, config.filters, n) for n in lengths)
        self.dense_FC = nn.Parameter(torch.empty(features, shape.outputs))

    def initialise(self, generator: Generator) -> None:
        super().initialise(generator)
        initialise_parts(self.convolutions, generator)
        features, outputs = self.dense_FC.shape
        glorot(self.dense_FC, generator, fan_in=features, fan_out=outputs)


class TokenNgrams(_Ngrams):
    """n tokens at a time, all features of each."""

    def __init__(self, config: NgramHead, shape: HeadShape) -> None:
        super().__init__(config, shape, inputs=config.size, features=config.longest * config.filters)
        self._reach = config.longest // 2

    def kept(self, tokens: int) -> int:
        size, (features, _) = self.bias_A.shape[0], self.dense_FC.shape
        return super().kept(tokens) + tokens * (size + 4 * features)

    def read(self, features_TA: Tensor, windows: Windows) -> Tensor:
        strip = windows.strip(reach=self._reach)
        x_1AP = strip.lay(features_TA)
        found = [strip.take(convolution(x_1AP)) for convolution in self.convolutions]
        features_TF = functional.gelu(torch.cat(found, dim=1))
        return self.drop(features_TF, windows) @ self.dense_FC


class FeatureNgrams(_Ngrams):
    """n features of one token at a time."""

    def __init__(self, config: NgramHead, shape: HeadShape) -> None:
        features = config.longest * config.filters * config.size
        super().__init__(config, shape, inputs=1, features=features)
        self._activations = 4 * features

    def kept(self, tokens: int) -> int:
        return super().kept(tokens) + kept(tokens, self._activations)

    def read(self, features_TA: Tensor, windows: Windows) -> Tensor:
        def read(x_T1A: Tensor, part: int) -> Tensor:
            parts = part * len(self.convolutions)
            found = [
                self.drop(functional.gelu(convolution(x_T1A)).flatten(1), windows, parts + n) @ dense_FC
                for n, (convolution, dense_FC) in enumerate(zip(self.convolutions, dense, strict=True))
            ]
            return torch.stack(found).sum(dim=0)

        dense = self.dense_FC.chunk(
            len(self.convolutions)
        )  # apart: joining the features costs a copy of them
        return in_chunks(read, features_TA[:, None], self._activations)
