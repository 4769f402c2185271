"""What is kept of an encoder's hidden states: which channels, of which tokens, in which dtype.

L channels, B windows of a batch, S tokens with padding, H width, T tokens of a batch back to back.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any

import torch
from torch import Tensor

from bv_search.document import Positive, one_of
from bv_search.encoder.encoder import Encoded, Encoder
from bv_search.errors import EncoderError, HeadError
from bv_search.files import decode_at
from bv_search.precision import FLOAT32, PRECISIONS, dtype_of
from bv_search.store.dtype import STORED
from bv_search.store.layout import ALL, FIRST, MEAN, POOLER, TOKENS, channel_name, layer_number
from bv_search.store.manifest import Channel, Manifest


@dataclass(frozen=True, kw_only=True)
class Channels:
    """A head is only as good as the agreement between what it was trained on and what it is given."""

    layers: tuple[Channel, ...]  # names of channels, in order
    tokens: Annotated[str, one_of(*TOKENS)]
    dtype: Annotated[str, one_of(*STORED, FLOAT32)]  # what values are rounded to
    width: Positive
    precision: Annotated[str, one_of(*PRECISIONS)] = FLOAT32  # of the forward pass

    @classmethod
    def of(cls, manifest: Manifest) -> "Channels":
        return cls(
            layers=tuple(manifest.layers),
            tokens=manifest.tokens,
            dtype=manifest.dtype,
            width=manifest.shape[1],
            precision=manifest.precision,
        )

    @classmethod
    def from_json(cls, value: Mapping[str, Any], *, where: object = None) -> "Channels":
        return decode_at(cls, value, HeadError, where=where, what="names no channels")

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "layers": list(self.layers)}

    @property
    def stored(self) -> torch.dtype:
        return dtype_of(self.dtype)

    @property
    def forward(self) -> torch.dtype:
        return dtype_of(self.precision)

    def check(self, encoder: Encoder) -> None:
        """Refuse an encoder that lacks a channel."""
        known = {channel_name(layer) for layer in range(encoder.layers)}
        known |= {POOLER} if encoder.has_pooler else set()
        missing = [name for name in self.layers if name not in known]
        if missing or encoder.width != self.width:
            raise EncoderError(
                "lacks required layers",
                where=encoder.identity.id,
                expected=f"channels {', '.join(missing or self.layers)}, width {self.width}",
                found=f"{encoder.layers} layers, width {encoder.width}",
            )

    def kept(self, lengths: Sequence[int]) -> list[int]:
        """How many tokens of each window are kept."""
        return list(lengths) if self.tokens == ALL else [1] * len(lengths)

    def pick(self, encoded: Encoded) -> list[Tensor]:
        """Each channel of a batch (B, S or 1, H), as it is and where it is: not rounded, on its device."""
        return self.of_layers(encoded.layers, encoded.pooler_BH, _inside(encoded))

    def of_layers(
        self, layers: Sequence[Tensor], pooler_BH: Tensor | None, inside_BS: Tensor
    ) -> list[Tensor]:
        """The same of what an encoder gives; the mask tells tokens from padding."""
        return [self._pick(name, layers, pooler_BH, inside_BS) for name in self.layers]

    def join(self, encoded: Encoded) -> Tensor:
        """hidden_LTH of a batch, rounded as it is stored, in float32."""
        kept = self.kept(encoded.lengths)
        joined = [
            torch.cat([window_SH[:length] for window_SH, length in zip(hidden_BSH, kept, strict=True)])
            for hidden_BSH in self.pick(encoded)
        ]
        return torch.stack([hidden_TH.to(self.stored) for hidden_TH in joined]).float()

    def _pick(
        self, name: str, layers: Sequence[Tensor], pooler_BH: Tensor | None, inside_BS: Tensor
    ) -> Tensor:
        if name == POOLER:
            assert pooler_BH is not None, "a channel is checked before it is read"
            return pooler_BH[:, None]
        hidden_BSH = layers[layer_number(name)]
        if self.tokens == FIRST:
            return hidden_BSH[:, :1]
        return _mean(hidden_BSH, inside_BS) if self.tokens == MEAN else hidden_BSH


def _inside(encoded: Encoded) -> Tensor:
    """inside_BS: whether it is a token of the window."""
    first = encoded.layers[0]
    lengths_B1 = torch.tensor(encoded.lengths, device=first.device)[:, None]
    return torch.arange(first.shape[1], device=first.device) < lengths_B1


def _mean(hidden_BSH: Tensor, inside_BS: Tensor) -> Tensor:
    total_BH = torch.einsum("bsh,bs->bh", hidden_BSH.float(), inside_BS.float())
    return (total_BH / inside_BS.sum(dim=1, keepdim=True))[:, None]
