"""What came of one way to get a head."""

import pytest

from bv_search.bench.__main__ import COMMAND
from bv_search.bench.ride import Outlay
from bv_search.command import main

BEST = {"score": 0.5, "interval": (0.4, 0.6), "select_score": 0.55}


def test_its_commands_add_up_for_a_reader_and_stay_apart_for_a_program() -> None:
    way = Outlay(seconds={"finetune": 10.04, "tune": 20.0}, bytes=2_500_000, best=BEST)
    assert way.to_json() == {"seconds": {"finetune": 10.0, "tune": 20.0}, "bytes": 2_500_000, "best": BEST}
    assert str(way).strip() == (
        "30 s (finetune 10, tune 20),      2.5 MB; report 0.5000 [0.4000, 0.6000], select 0.5500"
    )


def test_without_an_encoder_it_says_what_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(COMMAND, ["ride"]) == 2
    assert "bench ride needs an encoder" in capsys.readouterr().err
