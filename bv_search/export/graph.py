"""Encoder and heads as one function of tokens, which a tracer can follow.

N windows, S tokens of each with padding, L channels, H width, C outputs.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from bv_search.encoder.encoder import Encoder
from bv_search.heads.padded import padded_logits
from bv_search.model.combine import Method
from bv_search.model.model import Member, Model
from bv_search.source.channels import Channels
from bv_search.store.layout import ALL
from bv_search.tasks.votes import TINY


class Graph(nn.Module):
    """What `live_logits` says of the windows of a batch; for spans -inf on padding."""

    def __init__(self, model: Model, encoder: Encoder) -> None:
        super().__init__()
        self._model, self._encoder = model, encoder
        self.encoder = encoder.model
        self.heads = nn.ModuleList(model.heads)

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor | None = None
    ) -> Tensor:
        inputs = {"input_ids": input_ids, "attention_mask": attention_mask}
        if token_type_ids is not None:
            inputs["token_type_ids"] = token_type_ids
        inside_NS = attention_mask > 0
        layers, pooler_NH, of_encoder = self._encoder.run(inputs)
        hidden_LNSH = join_padded(self._model.channels, layers, pooler_NH, inside_NS)
        kept_NS = inside_NS if self._model.channels.tokens == ALL else torch.ones_like(inside_NS[:, :1])
        said = [self._member(member, hidden_LNSH, kept_NS, of_encoder) for member in self._model.members]
        logits = self._combined(said, kept_NS)
        return self._hidden(logits, kept_NS, float("-inf"))

    def _member(
        self, member: Member, hidden_LNSH: Tensor, kept_NS: Tensor, of_encoder: Tensor | None
    ) -> Tensor:
        if not member.heads:
            assert of_encoder is not None, "an encoder that is a member predicts"
            return of_encoder
        return self._mean([padded_logits(head, hidden_LNSH, kept_NS) for head in member.heads], kept_NS)

    def _mean(self, said: Sequence[Tensor], kept_NS: Tensor) -> Tensor:
        if len(said) == 1:
            return said[0]
        return self._logits(torch.stack([self._votes(each, kept_NS) for each in said]).mean(dim=0))

    def _combined(self, said: Sequence[Tensor], kept_NS: Tensor) -> Tensor:
        if len(said) == 1:
            return said[0]
        votes = torch.stack([self._votes(each, kept_NS) for each in said])
        if self._model.method == Method.MAX:
            return self._logits(votes.amax(dim=0))
        weights = torch.tensor([member.weight for member in self._model.members])
        return self._logits(torch.tensordot(weights / weights.sum(), votes, dims=1))

    def _votes(self, logits: Tensor, kept_NS: Tensor) -> Tensor:
        if self._model.task.is_number:
            return logits
        return self._hidden(logits, kept_NS, float("-inf")).softmax(dim=1)  # tokens, or classes

    def _logits(self, votes: Tensor) -> Tensor:
        if self._model.task.is_number:
            return votes
        return votes.clamp(min=float(TINY)).log()

    def _hidden(self, logits: Tensor, kept_NS: Tensor, value: float) -> Tensor:
        """Of spans, padding says nothing."""
        if not self._model.task.per_token:
            return logits
        return logits.masked_fill(~kept_NS[..., None], value)


def join_padded(
    channels: Channels, layers: Sequence[Tensor], pooler_NH: Tensor | None, inside_NS: Tensor
) -> Tensor:
    """hidden_LNSH, or one token for all: rounded as a store rounds it, in float32."""
    found = channels.of_layers(layers, pooler_NH, inside_NS)
    return torch.stack([hidden_NSH.to(channels.stored) for hidden_NSH in found]).float()
