"""Windows of one fine-tuning step after the other, gathered until there are enough for a step of heads.

L channels, T tokens of windows back to back, H width, N windows, D numbers of a label.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, kw_only=True, eq=False)
class Met:
    """Windows that an encoder has been trained on, and what it made of them then."""

    hidden_LTH: Tensor
    lengths_N: Tensor
    labels_ND: Tensor

    def __len__(self) -> int:
        return len(self.lengths_N)

    def cut(self, windows: int) -> tuple["Met", "Met"]:
        """The first so many, and the others."""
        tokens = int(self.lengths_N[:windows].sum())
        return self._part(slice(0, windows), slice(0, tokens)), self._part(
            slice(windows, None), slice(tokens, None)
        )

    def _part(self, windows: slice, tokens: slice) -> "Met":
        return Met(
            hidden_LTH=self.hidden_LTH[:, tokens],
            lengths_N=self.lengths_N[windows],
            labels_ND=self.labels_ND[windows],
        )


class Gathering:
    """Whole portions come out, in the order in which windows went in."""

    def __init__(self, portion: int) -> None:
        self._portion = portion  # windows
        self._waiting: list[Met] = []

    def add(self, met: Met) -> list[Met]:
        """What has become whole."""
        self._waiting.append(met)
        whole: list[Met] = []
        if sum(map(len, self._waiting)) >= self._portion:
            rest = _joined(self._waiting)
            while len(rest) >= self._portion:
                first, rest = rest.cut(self._portion)
                whole.append(first)
            self._waiting = [rest] if len(rest) else []
        return whole

    def state(self) -> dict[str, Tensor]:
        """What waits."""
        if not self._waiting:
            return {}
        rest = _joined(self._waiting)
        return {"hidden": rest.hidden_LTH, "lengths": rest.lengths_N, "labels": rest.labels_ND}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        self._waiting = []
        if state:
            waiting = Met(hidden_LTH=state["hidden"], lengths_N=state["lengths"], labels_ND=state["labels"])
            self._waiting.append(waiting)


def _joined(parts: list[Met]) -> Met:
    """A copy: what is learned from is standardised in place."""
    return Met(
        hidden_LTH=torch.cat([part.hidden_LTH for part in parts], dim=1),
        lengths_N=torch.cat([part.lengths_N for part in parts]),
        labels_ND=torch.cat([part.labels_ND for part in parts]),
    )
