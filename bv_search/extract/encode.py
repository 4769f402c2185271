"""Encoding a block, inside the process that has the encoder."""

import pyarrow as pa
import torch

from bv_search.encoder.checkpoint import load_encoder
from bv_search.extract.hold import require_held
from bv_search.extract.job import BlockTask, Job
from bv_search.extract.work import record_block
from bv_search.source.fill import WINDOW, fill_block
from bv_search.store.folder import Folder
from bv_search.store.index import INDEX_SCHEMA, read_columns
from bv_search.store.layout import block_file, index_file
from bv_search.store.manifest import BlockEntry
from bv_search.store.writer import BlockWriter

WANTED = ("id", "tokens", *WINDOW)


class BlockEncoder:
    """An encoder that turns planned blocks into files; what comes back are lines of the manifest."""

    def __init__(self, job: Job) -> None:
        torch.set_num_threads(job.threads)
        self.job, self.folder = job, job.folder
        self.encoder = load_encoder(job.source.encoder, task=job.task)
        self._channels = job.settings.channels
        self._channels.check(self.encoder)

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
