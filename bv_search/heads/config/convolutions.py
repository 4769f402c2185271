"""Convolutional heads whose sizes follow from few numbers.

The paper published their shares of BERT-large's parameters, not their shapes. Defaults stand near those
(`published.py`), for a span head: `tune --space paper-span --dry-run --shape 25x1024` prints both.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal

from bv_search.heads.config.head import HeadConfig, Pooling


@dataclass(frozen=True, kw_only=True)
class CnnHead(HeadConfig):
    """Convolutions along the width with the layers as channels; tokens are never mixed."""

    kind: ClassVar[str] = "cnn"

    pooling: Literal["none", "learned", "average"] = "none"  # the layers as channels, or one mix of them
    channels: int = 120  # of each convolution
    kernel: int = 7  # neighbours along the width
    depth: int = 4  # convolutions; the first shortens the width to a quarter, each further one to a half
    dilation: int = 1  # distance of the neighbours

    @property
    def architecture(self) -> str:
        dilation = "" if self.dilation == 1 else f" dilation {self.dilation}"
        stem = "" if self.pooling == "none" else f"{self.pooling} pooling, "
        return f"{stem}1xN cnn {self.channels} kernel {self.kernel} depth {self.depth}{dilation}"


@dataclass(frozen=True, kw_only=True)
class NgramHead(HeadConfig):
    """Convolutions of every length up to the longest on an adapter's features, side by side.

    Along the tokens they see n-grams (NxN), with the features as channels; along the features each token
    by itself (1xN), with one channel.
    """

    kind: ClassVar[str] = "ngram"

    pooling: Pooling = "learned"
    size: int = 386  # outputs of the adapter
    along: Literal["tokens", "features"] = "tokens"
    filters: int = 66  # of each length
    longest: int = 7  # lengths are 1 to this

    @property
    def architecture(self) -> str:
        kind = "NxN" if self.along == "tokens" else "1xN"
        stem = f"{self.pooling} pooling, adapter {self.size}"
        return f"{stem}, {kind} cnn {self.filters} n 1-{self.longest}"

    @property
    def mixes_tokens(self) -> bool:
        return self.along == "tokens"
