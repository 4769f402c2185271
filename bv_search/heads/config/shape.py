"""What a store and a task fix for every head on them."""

from dataclasses import dataclass

from bv_search.document import Positive
from bv_search.heads.config.head import RAW, STANDARD


@dataclass(frozen=True, kw_only=True)
class HeadShape:
    layers: Positive  # channels of the hidden states
    width: Positive  # of one hidden state
    outputs: Positive  # numbers a window (or a token, for spans) is mapped to
    per_token: bool  # a span head answers for each token, others for each window
    tokens: Positive | None = None  # of the longest window; 1: one token stands for it; None: unknown

    @property
    def is_value(self) -> bool:
        """Whether a head on it answers with a value, as regressions do."""
        return self.outputs == 1 and not self.per_token

    @property
    def values(self) -> str:
        """How heads on it learn them, if there are any; older versions learned them as they are."""
        return str(STANDARD if self.is_value else RAW)

    def __str__(self) -> str:
        return f"{self.layers}x{self.width}"
