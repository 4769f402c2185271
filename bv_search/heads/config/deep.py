"""Deep heads: after Inception and Xception.

Inception and XceptionMod heads work along the tokens on an adapter's features. Their shapes were not
published; defaults stand near their shares of BERT-large's parameters (`published.py`), as those of the
convolutional heads do.

Xception heads work along the width with the layers as channels, each token by itself. Their sizes are the
published ones exactly, for two classes on 26x1024 (with the statistics of batch norm, which are not trained):

    Xception abbreviated                           264,066   (267,010)
    Xception abbreviated, CLS residual             266,114   (269,058)
    Xception full                               20,662,106   (20,716,634)
"""

from dataclasses import dataclass
from typing import ClassVar, Literal

from bv_search.heads.config.head import HeadConfig, Pooling


@dataclass(frozen=True, kw_only=True)
class InceptionHead(HeadConfig):
    """Three Inception blocks on an adapter's features, along the tokens."""

    kind: ClassVar[str] = "inception"

    pooling: Pooling = "learned"
    size: int = 386  # outputs of the adapter
    channels: int = 321  # of each of a block's four branches
    keep_length: bool = True  # false: each block halves the tokens, as in the paper, where that failed

    @property
    def architecture(self) -> str:
        shrinking = "" if self.keep_length else " shrinking"
        return f"{self.pooling} pooling, adapter {self.size}, inception {self.channels}{shrinking}"

    @property
    def mixes_tokens(self) -> bool:
        return True


@dataclass(frozen=True, kw_only=True)
class XceptionModHead(HeadConfig):
    """Separable convolutions with residuals on an adapter's features, along the tokens."""

    kind: ClassVar[str] = "xception-mod"

    pooling: Pooling = "learned"
    size: int = 386  # outputs of the adapter
    channels: int = 685  # of the convolutions; the last one has twice as many
    blocks: int = 3  # of three convolutions, between the entry and the exit

    @property
    def architecture(self) -> str:
        stem = f"{self.pooling} pooling, adapter {self.size}"
        return f"{stem}, xception-mod {self.channels} blocks {self.blocks}"

    @property
    def mixes_tokens(self) -> bool:
        return True


@dataclass(frozen=True, kw_only=True)
class XceptionHead(HeadConfig):
    """Xception along the width of a window's token, with the layers as channels."""

    kind: ClassVar[str] = "xception"
    for_windows: ClassVar[bool] = True
    narrowest: ClassVar[int] = 9  # two convolutions without padding come first

    form: Literal["abbreviated", "full"] = "abbreviated"
    skip: bool = False  # the last channel joins before the dense layer

    @property
    def architecture(self) -> str:
        return f"xception {self.form}{' skip' if self.skip else ''}"
