"""Which trials may begin."""

from bv_search.tune.lot import Lot


def test_a_searcher_hears_of_a_whole_pack_before_it_is_asked_again() -> None:
    """It was asked once more after each trial of a pack that ended, and knew of those before it alone."""
    lot = Lot(capacity=2, live={"1", "2"}, parked={"1", "2"}, news={"1": {}, "2": {}})
    lot.live.discard("1")
    lot.parked.discard("1")
    del lot.news["1"]
    assert lot.has_room
    assert not lot.admits, "trial 2 has something to tell"
    del lot.news["2"]
    assert lot.admits


def test_news_of_trials_that_did_not_begin_again_yet_keep_none_from_beginning() -> None:
    """A resumed run brings news along for trials that it is still to begin."""
    assert Lot(capacity=2, news={"1": {}}).admits


def test_a_lot_with_news_is_not_still() -> None:
    lot = Lot(capacity=1, live={"1"}, parked={"1"})
    assert lot.is_still
    lot.news["1"] = {}
    assert not lot.is_still
