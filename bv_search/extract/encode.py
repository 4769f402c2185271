"""Encoding a block, inside the process that has the encoder."""

import numpy as np
import pyarrow as pa
import torch

from bv_search.encoder.checkpoint import load_encoder
from bv_search.encoder.encoder import autocast
from bv_search.encoder.predictions import predict_logits
from bv_search.extract.hold import require_held
from bv_search.extract.job import BlockTask, Job
from bv_search.extract.work import record_block
from bv_search.source.fill import WINDOW, fill_block
from bv_search.store.folder import Folder
from bv_search.store.index import INDEX_SCHEMA, read_columns
from bv_search.store.layout import NONE, block_file, index_file
from bv_search.store.manifest import AnyBlock, BareBlock
from bv_search.store.writer import BlockWriter

WANTED = ("id", "tokens", *WINDOW)

Made = tuple[AnyBlock, list[np.ndarray] | None]  # a line of the manifest, the encoder's own logits


class BlockEncoder:
    """An encoder that turns planned blocks into files; what comes back are lines of the manifest."""

    def __init__(self, job: Job) -> None:
        torch.set_num_threads(job.threads)
        self.job, self.folder = job, job.folder
        self.encoder = load_encoder(job.source.encoder, task=job.task)
        self._channels = job.settings.channels
        self._channels.check(self.encoder)

    def encode(self, task: BlockTask) -> AnyBlock:
        """Encode one block, keep what is kept of it, and note that it is done."""
        windows = read_group(self.folder, task)
        keeps = self.job.settings.format != NONE
        entry, logits = self._write(task, windows) if keeps else self._predict(windows)
        record_block(self.folder, task, entry, windows["id"], logits)
        return entry

    def _write(self, task: BlockTask, windows: pa.Table) -> Made:
        job = self.job
        file = block_file(task.split, task.number, job.settings.format)
        with BlockWriter(self.folder, file, job.form, windows["tokens"].to_pylist()) as block:
            logits = fill_block(self.encoder, self._channels, windows, block, job.settings.batch_tokens)
            require_held(self.folder, job.token)
            return block.commit(), logits

    def _predict(self, windows: pa.Table) -> Made:
        """Only the encoder's own logits, by the same batches."""
        precision, tokens = self._channels.forward, self.job.settings.batch_tokens
        with autocast(self.encoder.device, precision):  # around all batches: weights are cast once
            logits = predict_logits(self.encoder, windows, batch_tokens=tokens, dtype=precision)
        require_held(self.folder, self.job.token)
        return BareBlock(windows=windows.num_rows, tokens=sum(windows["tokens"].to_pylist())), list(logits)


def read_group(folder: Folder, task: BlockTask) -> pa.Table:
    """What encoding needs of the windows of a block: one row group of the index."""
    path = folder.local(index_file(task.split), task.index_digest)
    return read_columns(path, INDEX_SCHEMA, WANTED, group=task.number)
