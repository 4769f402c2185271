"""Logits and answers of a model: from hidden states in a store, or from rows by way of the encoder."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import torch

from bv_search.command import Progress
from bv_search.encoder.batches import plan_inference, read_tokens
from bv_search.encoder.encoder import Encoded, Encoder
from bv_search.encoder.predictions import BATCH_TOKENS
from bv_search.errors import DataError, StoreError
from bv_search.heads.head import Head
from bv_search.heads.inputs import prepare, share_inputs
from bv_search.heads.pack import Pack
from bv_search.model.combine import combine
from bv_search.model.model import Model
from bv_search.run.roles import encoder_logits
from bv_search.scan.score import score_split
from bv_search.scan.store_view import role_index
from bv_search.source.channels import Channels
from bv_search.store.store import Store
from bv_search.tasks.evaluation import Evaluation
from bv_search.tasks.row import Role, Row
from bv_search.tasks.task import Task
from bv_search.tasks.votes import RoleLogits, mean_logits


@dataclass(frozen=True, kw_only=True, eq=False)
class Answers:
    """What a model says of some rows, and how right it is where labels are known."""

    task: Task
    index: pa.Table
    logits: Sequence[np.ndarray]

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        return self.task.answers(self.index, self.logits)

    @cached_property
    def evaluation(self) -> Evaluation | None:
        labelled = self.index.num_rows > 0 and self.task.labelled(self.index)
        return self.task.evaluate(self.index, self.logits) if labelled else None

    @cached_property
    def interval(self) -> tuple[float, float]:
        """Of the score, where there is one."""
        assert self.evaluation is not None, "answers without truths have no score"
        return self.evaluation.interval()


def answer_store(
    model: Model, store: Store, *, role: Role = Role.REPORT, progress: Progress | None = None
) -> Answers:
    """From a store's hidden states, be it the one that the heads were trained on or another stage's."""
    check_store(model, store)
    if progress is not None:
        progress.say(f"{model.name} on {store.path}, {role} rows")
    of_encoder = _stored_predictions(store, role) if model.asks_encoder else []
    logits = _together(model, head_logits(model.heads, store, role), of_encoder)
    return Answers(task=model.task, index=role_index(store, role), logits=logits)


def _stored_predictions(store: Store, role: Role) -> list[np.ndarray]:
    found = encoder_logits(store, role)
    if found is None:
        raise StoreError(
            "has no predictions of the encoder, which is a member of the ensemble",
            where=store.path,
            expected="a store of a fine-tuned stage",
            do="choose a head with --member",
        )
    return found


def _together(model: Model, of_heads: Sequence[RoleLogits], of_encoder: RoleLogits) -> list[np.ndarray]:
    """What the members say together; each is the mean of its copies, or the encoder."""
    said, kind = iter(of_heads), model.task.kind
    members = [
        mean_logits([next(said) for _ in member.heads], kind) if member.heads else of_encoder
        for member in model.members
    ]
    return combine(model.method, members, kind, [member.weight for member in model.members])


def head_logits(heads: Sequence[Head], store: Store, role: Role) -> list[list[np.ndarray]]:
    """Each head's logits over all splits of a role, in one pass."""
    found: list[list[np.ndarray]] = [[] for _ in heads]
    if heads:
        for split in store.splits(role):
            for logits, more in zip(found, score_split(heads, split), strict=True):
                logits.extend(more)
    return found


def check_store(model: Model, store: Store) -> None:
    """Refuse a store whose hidden states mean something else than what the heads learned on."""
    theirs, ours = Channels.of(store.manifest), model.channels
    for what, expected, found in (
        ("task", model.task.name, store.task.name),
        ("shape", f"{len(ours.layers)}x{ours.width}", f"{len(theirs.layers)}x{theirs.width}"),
        ("channels", ", ".join(ours.layers), ", ".join(theirs.layers)),
        ("tokens", ours.tokens, theirs.tokens),
    ):
        if expected != found:
            raise StoreError(
                f"does not fit the model: another {what}", where=store.path, expected=expected, found=found
            )


def answer_rows(
    model: Model, encoder: Encoder, rows: Sequence[Row], *, progress: Progress | None = None
) -> Answers:
    """From text: one pass of the encoder, which all heads share."""
    if not rows:
        raise DataError("holds no rows", where=model.task.name)
    windows = model.task.windows(rows, encoder.tokenizer)
    return Answers(task=model.task, index=windows, logits=live_logits(model, encoder, windows, progress))


def rows_of_texts(task: Task, texts: Sequence[str | tuple[str, str]]) -> list[Row]:
    """Rows of texts at hand; each must have as many as a row of the task."""
    if isinstance(texts, str):
        raise DataError("is one text", where="texts", expected="a list of texts", found=texts)
    pairs = [tuple(text) if isinstance(text, tuple | list) else (text,) for text in texts]
    wanted = len(task.layout.columns[-1].texts)
    for number, pair in enumerate(pairs):
        if len(pair) != wanted or not all(isinstance(text, str) for text in pair):
            raise DataError(
                "is no row of the task",
                where=f"text {number}",
                expected=f"{task.name}: {' and '.join(task.layout.columns[-1].texts)}",
                found=repr(texts[number])[:60],
            )
    return [
        Row(id=str(number), text_a=pair[0], text_b=pair[1] if wanted > 1 else None)
        for number, pair in enumerate(pairs)
    ]


def live_logits(
    model: Model, encoder: Encoder, windows: pa.Table, progress: Progress | None = None
) -> list[np.ndarray]:
    """The model's logits per window, in the windows' order."""
    share_inputs(model.heads)
    pack = Pack([head.eval() for head in model.heads]) if model.heads else None
    ids, types = read_tokens(windows, "token_ids"), read_tokens(windows, "type_ids")
    lengths = np.array([len(tokens) for tokens in ids], dtype=np.int32)
    tokens = BATCH_TOKENS.get(encoder.device.type, BATCH_TOKENS["cpu"])
    of_heads: list[list[Any]] = [[None] * len(ids) for _ in model.heads]
    of_encoder: list[Any] = [None] * len(ids)
    done = 0
    for batch in plan_inference(lengths, tokens=tokens):
        encoded = encoder.encode(
            [ids[i] for i in batch], [types[i] for i in batch], dtype=model.channels.forward
        )
        said = [*zip(of_heads, _head_batches(pack, model, encoded), strict=True)]
        if model.asks_encoder:
            said.append((of_encoder, _own_batch(model, encoded)))
        for logits, own in said:
            for position, window in enumerate(batch):
                logits[window] = own[position]
        done += len(batch)
        if progress is not None:
            progress.update(f"answering: {done:,} of {len(ids):,} windows")
    return _together(model, of_heads, of_encoder)


@torch.inference_mode()
def _head_batches(pack: Pack | None, model: Model, encoded: Encoded) -> list[list[np.ndarray]]:
    if pack is None:
        return []
    lengths = model.channels.kept(encoded.lengths)
    states = prepare(model.channels.join(encoded).cpu(), share_inputs(pack.heads))
    found = pack(states, torch.tensor(lengths))
    if model.task.per_token:
        ends = np.cumsum(lengths)[:-1]
        return [np.split(logits.numpy(), ends) for logits in found]
    return [list(logits.numpy()) for logits in found]


def _own_batch(model: Model, encoded: Encoded) -> list[np.ndarray]:
    if encoded.logits is None:
        raise StoreError(
            "the encoder was never fine-tuned and predicts nothing", do="choose a head with --member"
        )
    logits = encoded.logits.float().cpu().numpy()
    return list(map(model.task.unpadded, logits, encoded.lengths))
