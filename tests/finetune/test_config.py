from collections.abc import Callable

import pytest

from bv_search.errors import UserError
from bv_search.finetune.config import FinetuneConfig


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"fractions": ()}, "no fractions"),
        ({"fractions": (0.3, -1.0)}, "a number from 0 on; found -1"),
        ({"fractions": (float("nan"),)}, "found nan"),
        ({"fractions": (float("inf"),)}, "found inf"),
        ({"learning_rate": 0.0}, "the learning rate is wrong"),
        ({"batch": 0}, "the batch is wrong"),
        ({"seed": -1}, "the seed is wrong"),
        ({"accumulate": 0}, "--accumulate is wrong"),
        ({"accumulate": 9}, "a step has fewer windows than parts; expected .*--batch, 8; found 9"),
        ({"accumulate": 3, "workers": 3}, "fewer windows than parts.*found 9"),
        ({"workers": 0}, "--workers is wrong"),
        ({"workers": 2, "heads": "adapters"}, "heads ride along with one worker; expected --workers 1"),
    ],
)
def test_settings_that_cannot_be_are_refused(
    configure: Callable[..., FinetuneConfig], change: dict[str, object], message: str
) -> None:
    with pytest.raises(UserError, match=message):
        configure(**change)
