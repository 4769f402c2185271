import numpy as np
import pytest
import torch

from bv_search.encoder.share import ALONE, Share

STEP = np.array([7, 3, 9, 1, 4])


def test_one_worker_reads_all_at_once() -> None:
    (part,) = ALONE.parts_of(STEP, 1)
    assert (part.number, part.weight) == (0, 1.0)
    assert part.windows.tolist() == STEP.tolist()


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("accumulate", [1, 2, 4])
def test_each_window_is_read_once_whoever_reads_it(workers: int, accumulate: int) -> None:
    """And the parts have numbers, and so dropout, of their own."""
    shares = [Share(worker=worker, workers=workers) for worker in range(workers)]
    parts = [part for share in shares for part in share.parts_of(STEP, accumulate)]
    counted = [part for part in parts if part.weight > 0]
    assert np.concatenate([part.windows for part in counted]).tolist() == STEP.tolist()
    assert sum(part.weight for part in counted) == pytest.approx(1.0)
    assert [part.number for part in counted] == list(range(min(workers * accumulate, len(STEP))))


def test_a_worker_without_windows_reads_one_for_nothing() -> None:
    """It has gradients of all weights then, and the others need not wait in vain."""
    (part,) = Share(worker=2, workers=3).parts_of(STEP[:2], 1)
    assert part.weight == 0.0
    assert part.windows.tolist() == [7]


def test_one_worker_adds_up_nothing() -> None:
    tensor = torch.ones(3)
    ALONE.add_up([tensor])
    assert tensor.tolist() == [1, 1, 1]
