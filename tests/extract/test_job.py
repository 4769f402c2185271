"""What every worker is told."""

import pytest

from bv_search.extract.job import ROWS_PER_SHARD, Shard, shards_of


@pytest.mark.parametrize("rows", [0, 1, ROWS_PER_SHARD, ROWS_PER_SHARD + 1, 3 * ROWS_PER_SHARD - 1])
def test_every_row_is_in_one_shard(rows: int) -> None:
    shards = shards_of("train", rows)
    assert [row for shard in shards for row in range(shard.start, shard.stop)] == list(range(rows))
    assert [shard.number for shard in shards] == list(range(len(shards)))
    assert all(0 < shard.stop - shard.start <= ROWS_PER_SHARD for shard in shards)


def test_shards_of_every_split_have_files_of_their_own() -> None:
    files = [shard.file for split in ("train", "dev") for shard in shards_of(split, 2 * ROWS_PER_SHARD)]
    assert len(files) == len(set(files)) == 4
    first = Shard(split="train", number=0, start=0, stop=ROWS_PER_SHARD)
    assert files[0] == first.file == ".extract/windows/train/00000.parquet"
