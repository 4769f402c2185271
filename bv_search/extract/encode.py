"""Encoding a block, inside the process that has the encoder."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import torch

from bv_search.encoder.batches import plan_inference, read_tokens
from bv_search.encoder.checkpoint import load_encoder
from bv_search.encoder.encoder import Encoded, Encoder, autocast
from bv_search.extract.channels import Channels
from bv_search.extract.hold import require_held
from bv_search.extract.job import BlockTask, Job
from bv_search.extract.placer import Placer
from bv_search.extract.work import record_block
from bv_search.store.folder import Folder
from bv_search.store.index import INDEX_SCHEMA, read_columns
from bv_search.store.layout import block_file, index_file
from bv_search.store.manifest import BlockEntry
from bv_search.store.writer import BlockWriter

WANTED = ("id", "token_ids", "type_ids", "tokens")


class BlockEncoder:
    """An encoder that turns planned blocks into files; what comes back are lines of the manifest."""

    def __init__(self, job: Job) -> None:
        torch.set_num_threads(job.threads)
        self.job, self.folder = job, job.folder
        self.encoder = load_encoder(job.source.encoder, task=job.task)
        self._channels = Channels(job.settings, self.encoder)

    def encode(self, task: BlockTask) -> BlockEntry:
        """Encode one block, write it, and note that it is done."""
        job = self.job
        windows = read_group(self.folder, task)
        file = block_file(task.split, task.number, job.settings.format)
        lengths = windows["tokens"].to_pylist()
        with BlockWriter(self.folder, file, job.form, lengths) as block:
            logits = fill_block(self.encoder, self._channels, windows, block, job.settings.batch_tokens)
            require_held(self.folder, job.token)
            entry = block.commit()
        record_block(self.folder, task, entry, windows["id"], logits)
        return entry


def read_group(folder: Folder, task: BlockTask) -> pa.Table:
    """What encoding needs of the windows of a block: one row group of the index."""
    path = folder.local(index_file(task.split), task.index_digest)
    return read_columns(path, INDEX_SCHEMA, WANTED, group=task.number)


def fill_block(
    encoder: Encoder, channels: Channels, windows: pa.Table, block: BlockWriter, batch_tokens: int
) -> list[np.ndarray] | None:
    """Encode the windows in batches of like length, each put into its place while the next is encoded."""
    with Placer(encoder, channels, block) as placer:
        for batch, encoded in encode_batches(encoder, windows, batch_tokens, channels.precision):
            placer.put(batch, encoded)
        return placer.logits()


def encode_batches(
    encoder: Encoder, windows: pa.Table, batch_tokens: int, precision: torch.dtype
) -> Iterator[tuple[np.ndarray, Encoded]]:
    """The batch plan of a block, and what the encoder makes of each batch."""
    ids, types = read_tokens(windows, "token_ids"), read_tokens(windows, "type_ids")
    lengths = np.array([len(tokens) for tokens in ids], dtype=np.int32)
    # entered once around all batches: autocast then casts the weights once, and not for each of them
    with torch.inference_mode(), autocast(encoder.device, precision):
        for batch in plan_inference(lengths, tokens=batch_tokens):
            yield batch, encoder.encode([ids[i] for i in batch], [types[i] for i in batch], dtype=precision)
