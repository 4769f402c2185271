"""The statistics of a store, put together from the blocks of its training rows."""

from collections.abc import Mapping

from bv_search.extract.job import Job
from bv_search.extract.work import read_moments
from bv_search.store.manifest import FileEntry, Manifest, SplitEntry
from bv_search.store.statistics import Moments
from bv_search.store.store import Store
from bv_search.store.writer import write_statistics
from bv_search.tasks.row import Role


def gather_statistics(job: Job, splits: Mapping[str, SplitEntry]) -> FileEntry:
    """From the records of blocks that are finished."""
    moments = (
        read_moments(job.folder, name, number)
        for name, split in splits.items()
        if split.role == Role.TRAIN
        for number in range(len(split.blocks))
    )
    return write_statistics(job.folder, moments, job.settings.dtype)


def measure_statistics(job: Job, manifest: Manifest) -> FileEntry:
    """From the blocks of a store that keeps them, one in memory at a time."""
    store = Store(job.folder, manifest, window=manifest.largest_block)
    moments = (
        Moments.of(block.hidden_LTH, manifest.dtype)
        for split in store.splits(Role.TRAIN)
        for block in split.blocks()
    )
    return write_statistics(job.folder, moments, manifest.dtype)
