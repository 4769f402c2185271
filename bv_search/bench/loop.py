"""One adapter in a plain PyTorch loop: Adam until the loss on select no longer falls.

T tokens of a batch back to back, C outputs.
"""

from copy import deepcopy

import torch

from bv_search.bench.finding import Finding, find
from bv_search.bench.plain import PlainHead
from bv_search.bench.standard import StandardBatches
from bv_search.heads.config import AdapterHead
from bv_search.scan.loss import LOSSES
from bv_search.scan.store_view import head_shape
from bv_search.store.store import Store
from bv_search.tasks.row import Role
from bv_search.tasks.task import Logits

SIZE, RATE = 64, 1e-3
SPAN_BATCH, BATCH = 16, 64  # windows
MOST_PASSES, PATIENCE = 50, 3


def train_loop(store: Store) -> Finding:
    """Passes until the loss on select has not fallen for a while; the best weights are kept."""
    loop = Loop(store)
    least, best, waited, passes = float("inf"), loop.head.state_dict(), 0, 0
    while passes < MOST_PASSES and waited < PATIENCE:
        select_loss = loop.run_pass(passes)
        passes, waited = passes + 1, waited + 1
        if select_loss < least:
            least, best, waited = select_loss, deepcopy(loop.head.state_dict()), 0
    loop.head.load_state_dict(best)
    logits = {role: predict(loop.head, loop.data, role) for role in (Role.SELECT, Role.REPORT)}
    return find(store, f"adapter {SIZE}, the best of {passes} passes", logits)


class Loop:
    """A shared adapter on every channel, flattened into a dense layer; of spans, the last channel joins."""

    def __init__(self, store: Store) -> None:
        torch.manual_seed(0)
        is_span = store.task.per_token
        self._loss = LOSSES[store.task.kind]
        self.data = StandardBatches(store, SPAN_BATCH if is_span else BATCH)
        self.head = PlainHead(AdapterHead(size=SIZE, skip=is_span), head_shape(store))
        self._optimiser = torch.optim.Adam(self.head.parameters(), lr=RATE)

    def run_pass(self, number: int) -> float:
        """Over train; the loss on select after it."""
        for hidden_LTH, lengths_N, labels_ND in self.data.read(Role.TRAIN, seed=number):
            loss = self._loss(self.head(hidden_LTH)[None], lengths_N, labels_ND, None).sum() / len(lengths_N)
            self._optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            self._optimiser.step()
        with torch.inference_mode():
            return sum(
                float(self._loss(self.head(hidden_LTH)[None], lengths_N, labels_ND, None))
                for hidden_LTH, lengths_N, labels_ND in self.data.read(Role.SELECT)
            )


@torch.inference_mode()
def predict(head: PlainHead, data: StandardBatches, role: Role) -> list[Logits]:
    """logits_TC of every window of spans, logits_C of others."""
    logits: list[Logits] = []
    for hidden_LTH, lengths_N, _ in data.read(role):
        windows = head(hidden_LTH).split(lengths_N.tolist())
        logits += [logits_TC.numpy() if data.is_span else logits_TC[0].numpy() for logits_TC in windows]
    return logits
