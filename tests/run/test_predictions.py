from pathlib import Path

import numpy as np
import pytest

from bv_search.errors import RunError
from bv_search.run import read_predictions, write_predictions

SPANS = [np.arange(6, dtype=np.float32).reshape(3, 2), np.ones((5, 2), np.float32)]
CLASSES = [np.array([0.5, -1.0, 2.0], np.float32), np.array([0.0, 1.0, 3.0], np.float32)]


@pytest.mark.parametrize("logits", [SPANS, CLASSES, []])
def test_predictions_come_back_in_their_shapes(tmp_path: Path, logits: list[np.ndarray]) -> None:
    ids = [f"q{number}#0" for number in range(len(logits))]
    found = read_predictions(write_predictions(tmp_path / "select.parquet", ids, logits), ids=ids)
    assert found.ids == tuple(ids)
    assert len(found.logits) == len(logits)
    for left, right in zip(found.logits, logits, strict=True):
        assert left.dtype == np.float32
        np.testing.assert_array_equal(left, right)


def test_no_flipped_bit_gives_other_predictions(tmp_path: Path) -> None:
    path = write_predictions(tmp_path / "select.parquet", ["a#0", "b#0"], SPANS)
    whole = path.read_bytes()
    harmless = 0
    for position in range(0, len(whole), 3):
        flipped = bytearray(whole)
        flipped[position] ^= 4
        path.write_bytes(flipped)
        try:
            found = read_predictions(path)
        except RunError:
            continue
        harmless += 1
        assert found.ids == ("a#0", "b#0")
        for left, right in zip(found.logits, SPANS, strict=True):
            np.testing.assert_array_equal(left, right)
    assert harmless < len(whole) / 3


def test_predictions_of_other_rows_are_refused(tmp_path: Path) -> None:
    path = write_predictions(tmp_path / "select.parquet", ["a#0", "b#0"], SPANS)
    with pytest.raises(RunError, match="belongs to other rows"):
        read_predictions(path, ids=["b#0", "a#0"])


def test_absent_or_foreign_files_are_one_line(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="does not exist"):
        read_predictions(tmp_path / "none.parquet")
    (tmp_path / "text.parquet").write_text("not parquet")
    with pytest.raises(RunError, match="is damaged"):
        read_predictions(tmp_path / "text.parquet")
