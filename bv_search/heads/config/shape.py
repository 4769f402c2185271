"""What a store and a task fix for every head on them."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class HeadShape:
    layers: int  # channels of the hidden states
    width: int  # of one hidden state
    outputs: int  # numbers a window (or a token, for spans) is mapped to
    per_token: bool  # a span head answers for each token, others for each window
    tokens: int | None = None  # of the longest window there can be; 1: one token stands for it; None: unknown

    def __str__(self) -> str:
        return f"{self.layers}x{self.width}"
