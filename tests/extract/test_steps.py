"""What is planned or encoded already is not done again."""

import io
from collections.abc import Callable, Iterator, Sequence

import pytest

from bv_search.command import Progress
from bv_search.errors import OutputError
from bv_search.extract.config import ExtractConfig
from bv_search.extract.executor import LocalExecutor
from bv_search.extract.extraction import run
from bv_search.extract.job import BlockTask, ExtractJob, Shard
from bv_search.store.manifest import AnyBlock


class Counting(LocalExecutor):
    """It counts what it does, and may end before the last block."""

    def __init__(self, blocks: int | None = None) -> None:
        super().__init__(threads=1)
        self._blocks = blocks
        self.shards: list[Shard] = []
        self.tasks: list[BlockTask] = []

    def tokenise(self, job: ExtractJob, shards: Sequence[Shard]) -> Iterator[Shard]:
        self.shards += shards
        return super().tokenise(job, shards)

    def encode(self, job: ExtractJob, tasks: Sequence[BlockTask]) -> Iterator[tuple[BlockTask, AnyBlock]]:
        for number, (task, entry) in enumerate(super().encode(job, tasks)):
            if number == self._blocks:
                raise OutputError("no more room", where="there")
            self.tasks.append(task)
            yield task, entry


def test_every_shard_and_every_block_is_asked_for_once(config: Callable[..., ExtractConfig]) -> None:
    executor = Counting()
    result = run(config(), Progress(quiet=True), executor)
    assert [shard.split for shard in executor.shards] == ["train", "select", "dev"]
    places = [(task.split, task.number) for task in executor.tasks]
    assert len(places) == len(set(places)) == result.blocks == result.encoded_blocks


def test_an_extraction_that_goes_on_plans_nothing_and_encodes_the_rest(
    config: Callable[..., ExtractConfig],
) -> None:
    first, second = Counting(blocks=3), Counting()
    with pytest.raises(OutputError, match="no more room"):
        run(config(), Progress(quiet=True), first)
    told = io.StringIO()
    result = run(config(), Progress(stream=told), second)
    assert second.shards == []
    done = result.blocks - len(second.tasks)
    assert done >= len(first.tasks) == 3
    assert f"going on: {done} of {result.blocks} blocks are done already" in told.getvalue()


def test_the_manifest_adds_its_blocks_up(config: Callable[..., ExtractConfig]) -> None:
    result = run(config(), Progress(quiet=True), Counting())
    for split in result.manifest.splits.values():
        assert split.windows == sum(block.windows for block in split.blocks)
        assert split.tokens == sum(block.tokens for block in split.blocks)
        assert split.encoded_tokens > split.tokens, "first tokens alone are kept"
    assert result.tokens == sum(split.encoded_tokens for split in result.manifest.splits.values())
