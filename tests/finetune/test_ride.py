from typing import Any

from bv_search.finetune.config import RIDING
from bv_search.finetune.ride import plan_ride

LIST: dict[str, Any] = {
    "space": {
        "head": {"kind": "linear", "channels": {"choice": [0, 1, 2]}},
        "learning_rate": {"choice": [1e-3, 3e-3]},
        "batch": "auto",
        "data_fraction": 0.5,
    }
}


def test_all_points_of_a_list_ride_in_its_order() -> None:
    ride = plan_ride(LIST, trials=None, seed=0)
    heads = ride.draw(lambda head: True)
    assert [getattr(head.head, "channels", None) for head in heads] == [0, 0, 1, 1, 2, 2]
    assert {head.training.batch for head in heads} == {16}
    assert ride.left_out == ("data_fraction",)
    assert len(plan_ride(LIST, trials=4, seed=0).draw(lambda head: True)) == 4


def test_others_are_drawn_from_the_seed_after_the_starting_points() -> None:
    drawn = [plan_ride("adapters", trials=None, seed=seed).draw(lambda head: True) for seed in (0, 0, 1)]
    assert [len(heads) for heads in drawn] == [RIDING] * 3
    assert drawn[0] == drawn[1] != drawn[2]
    start = plan_ride("adapters", trials=1, seed=1).draw(lambda head: True)
    assert start == drawn[2][:1]
    assert start[0].head.name == drawn[0][0].head.name
    assert len({str(head) for head in drawn[0]}) == RIDING


def test_what_does_not_fit_is_not_drawn() -> None:
    heads = plan_ride("adapters", trials=8, seed=0).draw(lambda head: head.head.kind == "mlp")
    assert [head.head.kind for head in heads] == ["mlp"] * 8
