import pytest

from bv_search.finetune.plateau import is_plateau


@pytest.mark.parametrize(
    ("scores", "patience", "expected"),
    [
        ([], 1, False),
        ([0.5], 1, False),
        ([0.5, 0.5], 1, True),
        ([0.5, 0.6], 1, False),
        ([0.5, 0.6, 0.6, 0.55], 2, True),
        ([0.5, 0.6, 0.55, 0.59], 3, False),
        ([0.6, 0.5, 0.7], 2, False),
        ([None, None], 2, True),
        ([0.5, None], 2, False),
        ([0.5, 0.5, 0.5], None, False),
    ],
)
def test_patience_counts_stages_without_a_better_head(
    scores: list[float | None], patience: int | None, expected: bool
) -> None:
    assert is_plateau(scores, patience) is expected
