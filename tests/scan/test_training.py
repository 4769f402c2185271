"""How a head is trained: rates, rows, and what is refused."""

import pytest

from bv_search.errors import SpaceError
from bv_search.scan.training import TrainingConfig
from bv_search.scan.trial import TrialConfig


def test_the_rate_rises_then_follows_its_schedule() -> None:
    def rates(schedule: str) -> list[float]:
        config = TrainingConfig.from_json({"learning_rate": 1.0, "warmup": 0.2, "schedule": schedule})
        return [round(config.rate_at(done), 3) for done in (0.0, 0.1, 0.2, 0.6, 1.0)]

    assert rates("constant") == [0.0, 0.5, 1.0, 1.0, 1.0]
    assert rates("linear") == [0.0, 0.5, 1.0, 0.5, 0.0]
    assert rates("cosine") == [0.0, 0.5, 1.0, 0.5, 0.0]


def test_a_fraction_of_the_data_is_whole_micro_batches() -> None:
    assert TrainingConfig(data_fraction=0.1).rows(1000) == 112
    assert TrainingConfig(data_fraction=1.0).rows(1000) == 1000
    assert TrainingConfig(data_fraction=0.001).rows(5) == 5
    assert TrainingConfig(data_fraction=0.07).rows(1600) == 112, "a product of floats is a little more"


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ({"learning_rate": 0.0}, "a number above 0"),
        ({"learning_rate": "fast"}, "a number above 0"),
        ({"batch": 24}, "a multiple of 16"),
        ({"passes": 0}, "auto, or a whole number above 0"),
        ({"passes": 1.5}, "auto, or a whole number above 0"),
        ({"passes": True}, "auto, or a whole number above 0"),
        ({"passes": "all"}, "auto, or a whole number above 0"),
        ({"patience": 0}, "a whole number above 0"),
        ({"inputs": "normal"}, "standard or raw"),
        ({"inputs": None}, "standard or raw"),
        ({"data_fraction": 1.1}, "up to 1"),
        ({"warmup": 1.0}, "below 1"),
        ({"dropout": 1.0}, "from 0 to below 1"),
        ({"dropout": -0.1}, "from 0 to below 1"),
        ({"label_smoothing": "some"}, "from 0 to below 1"),
        ({"schedule": "steps"}, "constant, linear, cosine"),
    ],
)
def test_a_bad_setting_says_what_is_expected(setting: dict[str, object], expected: str) -> None:
    with pytest.raises(SpaceError, match=expected):
        TrialConfig.from_json({"head": {"kind": "pooling"}, **setting})


def test_an_unknown_setting_is_named() -> None:
    for name in ("learning_rat", "epochs"):
        with pytest.raises(SpaceError, match=f"no setting '{name}'"):
            TrialConfig.from_json({"head": {"kind": "pooling"}, name: 1})
