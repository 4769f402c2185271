"""Encoding a block, inside the process that has the encoder."""

import numpy as np
import pyarrow as pa
import torch

from bv_search.encoder.checkpoint import load_encoder
from bv_search.encoder.encoder import autocast
from bv_search.encoder.predictions import predict_logits
from bv_search.extract.job import BlockTask, ExtractJob
from bv_search.extract.lock import require_held
from bv_search.extract.resume import Made, record_block
from bv_search.source.fill import WINDOW, fill_block
from bv_search.source.page import fill_page
from bv_search.store.folder import Folder
from bv_search.store.index import INDEX_SCHEMA, read_columns
from bv_search.store.layout import NONE, block_file, index_file
from bv_search.store.manifest import AnyBlock, BareBlock
from bv_search.store.statistics import Moments
from bv_search.store.writer import BlockWriter
from bv_search.tasks.row import Role

WANTED = ("id", "tokens", *WINDOW)


class BlockEncoder:
    """An encoder that turns planned blocks into files; what comes back are lines of the manifest."""

    def __init__(self, job: ExtractJob) -> None:
        torch.set_num_threads(job.threads)
        self.job, self.folder = job, job.folder
        self.encoder = load_encoder(job.inputs.encoder, task=job.task)
        self._channels = job.settings.channels
        self._channels.check(self.encoder)

    def encode(self, task: BlockTask) -> AnyBlock:
        """Encode one block, keep what is kept of it, and note that it is done."""
        windows = read_group(self.folder, task)
        made = self._make(task, windows)
        record_block(self.folder, task, windows["id"], made)
        return made.entry

    def _make(self, task: BlockTask, windows: pa.Table) -> Made:
        if self.job.settings.format != NONE:
            return self._write(task, windows)
        return self._measure(task, windows) if task.role == Role.TRAIN else self._predict(windows)

    def _write(self, task: BlockTask, windows: pa.Table) -> Made:
        job = self.job
        file = block_file(task.split, task.number, job.settings.format)
        with BlockWriter(self.folder, file, job.form, windows["tokens"].to_pylist()) as block:
            logits = fill_block(self.encoder, self._channels, windows, block, job.settings.batch_tokens)
            require_held(self.folder, job.token)
            entry = block.commit()
            moments = self._moments(block.hidden_LTH) if task.role == Role.TRAIN else None
            return Made(entry=entry, logits=logits, moments=moments)

    def _measure(self, task: BlockTask, windows: pa.Table) -> Made:
        """What `_write` would keep, and of that only the moments."""
        where = f"{self.folder.url}, split {task.split}, block {task.number}"
        tokens = self.job.settings.batch_tokens
        page, logits = fill_page(self.encoder, self._channels, windows, tokens, where)
        require_held(self.folder, self.job.token)
        return Made(entry=_bare(windows), logits=logits, moments=self._moments(page.hidden_LTH))

    def _predict(self, windows: pa.Table) -> Made:
        """Only the encoder's own logits, by the same batches."""
        precision, tokens = self._channels.forward, self.job.settings.batch_tokens
        with autocast(self.encoder.device, precision):  # around all batches: weights are cast once
            logits = predict_logits(self.encoder, windows, batch_tokens=tokens, dtype=precision)
        require_held(self.folder, self.job.token)
        return Made(entry=_bare(windows), logits=logits, moments=None)

    def _moments(self, hidden_LTH: np.ndarray) -> Moments:
        return Moments.of(hidden_LTH, self.job.settings.dtype)


def _bare(windows: pa.Table) -> BareBlock:
    return BareBlock(windows=windows.num_rows, tokens=sum(windows["tokens"].to_pylist()))


def read_group(folder: Folder, task: BlockTask) -> pa.Table:
    """What encoding needs of the windows of a block: one row group of the index."""
    path = folder.local(index_file(task.split), task.index_digest)
    return read_columns(path, INDEX_SCHEMA, WANTED, group=task.number)
