"""What heads read of an encoder: which channels, which tokens, in which precision. As the store had it."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

from bv_search.encoder.encoder import Encoded, Encoder
from bv_search.errors import EncoderError
from bv_search.store.layout import POOLER, channel_name
from bv_search.store.manifest import Manifest

DTYPES = {"float16": torch.float16, "bfloat16": torch.bfloat16}


@dataclass(frozen=True, kw_only=True)
class Channels:
    """A head is only as good as the agreement between what it was trained on and what it is given."""

    layers: tuple[str, ...]  # names of channels, in order
    tokens: str  # all | first | mean
    dtype: str  # what values are rounded to
    width: int

    @classmethod
    def of(cls, manifest: Manifest) -> "Channels":
        return cls(
            layers=tuple(manifest.layers),
            tokens=manifest.tokens,
            dtype=manifest.dtype,
            width=manifest.shape[1],
        )

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Channels":
        return cls(**{**value, "layers": tuple(value["layers"])})

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "layers": list(self.layers)}

    def check(self, encoder: Encoder) -> None:
        """Refuse an encoder that lacks a channel."""
        known = {channel_name(layer) for layer in range(encoder.layers)}
        known |= {POOLER} if encoder.has_pooler else set()
        missing = [name for name in self.layers if name not in known]
        if missing or encoder.width != self.width:
            raise EncoderError(
                "does not have what the head reads",
                where=encoder.identity.id,
                expected=f"channels {', '.join(missing) or 'of the head'}, width {self.width}",
                found=f"{encoder.layers} layers, width {encoder.width}",
            )

    def cut(self, encoded: Encoded) -> Iterator[Tensor]:
        """hidden_LTH of each window: its channels and tokens, rounded as they were stored, in float32."""
        by_name = {channel_name(layer): layer for layer in range(len(encoded.hidden_LBSH))}
        layers = [by_name[name] for name in self.layers if name != POOLER]
        for row, length in enumerate(encoded.lengths):
            hidden_LTH = encoded.hidden_LBSH[layers, row, :length].float()
            if self.tokens == "first":
                hidden_LTH = hidden_LTH[:, :1]
            elif self.tokens == "mean":
                hidden_LTH = hidden_LTH.mean(dim=1, keepdim=True)
            if POOLER in self.layers:
                assert encoded.pooler_BH is not None, "checked before"
                pooler_1TH = encoded.pooler_BH[row].float().expand(1, hidden_LTH.shape[1], -1)
                hidden_LTH = torch.cat([hidden_LTH, pooler_1TH])
            yield hidden_LTH.to(DTYPES[self.dtype]).float()
