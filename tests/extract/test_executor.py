"""The steps of extraction, in this process."""

import pytest
import torch

from bv_search.extract.executor import LocalExecutor
from bv_search.extract.settings import survey_hardware


def test_it_has_the_threads_that_it_is_given_or_those_of_torch() -> None:
    assert LocalExecutor(3).threads == 3
    assert LocalExecutor().threads == torch.get_num_threads()


def test_a_step_is_called_here_and_its_errors_are_its_own() -> None:
    def divide(a: int, *, by: int) -> float:
        return a / by

    executor = LocalExecutor()
    assert executor.call(divide, 6, by=4) == 1.5
    with pytest.raises(ZeroDivisionError):
        executor.call(divide, 6, by=0)


def test_it_computes_on_what_this_process_has() -> None:
    assert LocalExecutor().hardware() == survey_hardware()
