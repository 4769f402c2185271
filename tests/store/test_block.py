"""Blocks as files: only plain values of the expected shape are taken."""

import io
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bv_search.errors import StoreError
from bv_search.store.block import (
    ROW_GROUP_BYTES,
    Block,
    Part,
    map_npy,
    npy_header,
    read_parquet,
    write_parquet,
)

SHAPE = (2, 6, 4)
HIDDEN = np.arange(48, dtype="<f2").reshape(SHAPE)
LENGTHS = np.array([1, 3, 2], np.int32)


def write_npy(path: Path, values: np.ndarray, *, pickle: bool = False) -> Path:
    with path.open("wb") as file:
        np.save(file, values, allow_pickle=pickle)
    return path


def test_the_header_is_numpys_own(tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    path.write_bytes(npy_header(SHAPE, "float16") + HIDDEN.tobytes())
    np.testing.assert_array_equal(np.load(path), HIDDEN)
    np.testing.assert_array_equal(map_npy(path, SHAPE, "float16"), HIDDEN)


def test_a_mapped_block_cannot_be_written(tmp_path: Path) -> None:
    mapped = map_npy(write_npy(tmp_path / "x.npy", HIDDEN), SHAPE, "float16")
    with pytest.raises(ValueError, match="read-only"):
        mapped[0, 0, 0] = 1


@pytest.mark.parametrize(
    "values",
    [HIDDEN.astype("<f4"), HIDDEN.astype(">f2"), np.asfortranarray(HIDDEN), HIDDEN[:1], HIDDEN.view("<u2")],
)
def test_another_array_is_refused(tmp_path: Path, values: np.ndarray) -> None:
    with pytest.raises(StoreError, match="is not the block it should be"):
        map_npy(write_npy(tmp_path / "x.npy", values), SHAPE, "float16")


def test_an_object_array_is_refused_unread(tmp_path: Path) -> None:
    trap = np.array([Trap()], dtype=object)
    path = write_npy(tmp_path / "x.npy", trap, pickle=True)
    with pytest.raises(StoreError, match="is not the block it should be"):
        map_npy(path, SHAPE, "float16")
    assert Trap.sprung == 0


class Trap:
    """Springs when it is unpickled."""

    sprung = 0

    def __reduce__(self) -> tuple[object, ...]:
        return _spring, ()


def _spring() -> None:
    Trap.sprung += 1


@pytest.mark.parametrize("kept", [-1, 100])
def test_a_truncated_block_is_refused(tmp_path: Path, kept: int) -> None:
    path = write_npy(tmp_path / "x.npy", HIDDEN)
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(StoreError):
        map_npy(path, SHAPE, "float16")


def test_parquet_holds_the_same_values(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    with path.open("wb") as file:
        write_parquet(file, HIDDEN, LENGTHS.tolist())
    np.testing.assert_array_equal(read_parquet(path, SHAPE, LENGTHS, "float16"), HIDDEN)
    assert pq.read_table(path).column("hidden").to_pylist()[1] == HIDDEN[:, 1:4].tobytes()


def test_parquet_is_written_and_read_a_few_windows_at_a_time(tmp_path: Path) -> None:
    lengths = np.random.default_rng(0).integers(1, 40, 60)
    hidden_LTH = np.arange(4 * lengths.sum() * 512, dtype="<u2").reshape(4, -1, 512)
    path = tmp_path / "x.parquet"
    with path.open("wb") as file:
        write_parquet(file, hidden_LTH, lengths.tolist())
    groups = pq.ParquetFile(path).metadata
    assert 1 < groups.num_row_groups <= -(-hidden_LTH.nbytes // ROW_GROUP_BYTES)
    np.testing.assert_array_equal(
        read_parquet(path, hidden_LTH.shape, lengths, "bfloat16"),
        hidden_LTH,
    )


@pytest.mark.parametrize("lengths", [[1, 3], [1, 3, 1, 1], [3, 1, 2]])
def test_parquet_with_other_windows_is_refused(tmp_path: Path, lengths: list[int]) -> None:
    path = tmp_path / "x.parquet"
    with path.open("wb") as file:
        write_parquet(file, HIDDEN, LENGTHS.tolist())
    with pytest.raises(StoreError, match="is damaged"):
        read_parquet(path, SHAPE, np.array(lengths), "float16")


def test_a_parquet_extension_type_is_refused(tmp_path: Path) -> None:
    tensors = pa.FixedShapeTensorArray.from_numpy_ndarray(np.ones((3, 4), np.float16))
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"hidden": tensors}), path)
    with pytest.raises(StoreError, match="expected one column, hidden: binary; found hidden: extension"):
        read_parquet(path, SHAPE, LENGTHS, "float16")


def test_a_file_that_is_no_parquet_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    path.write_bytes(io.BytesIO(b"nothing of the kind").getvalue())
    with pytest.raises(StoreError, match="is damaged"):
        read_parquet(path, SHAPE, LENGTHS, "float16")


def test_a_part_of_a_block_copies_nothing() -> None:
    block = Block(number=4, first_window=32, lengths=LENGTHS, hidden_LTH=HIDDEN)
    part = block.cut(Part(block=4, start=1, stop=2))
    assert (part.first_window, part.lengths.tolist()) == (33, [3])
    np.testing.assert_array_equal(part.hidden_LTH, HIDDEN[:, 1:4])
    assert part.hidden_LTH.base is not None
    assert np.shares_memory(part.hidden_LTH, HIDDEN)
