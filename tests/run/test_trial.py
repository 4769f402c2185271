import pytest

from bv_search.run import Run, TrialRecord, replay
from tests.run.conftest import encore, finish, segment

SUGGEST = {"event": "suggest", "trial": "a", "config": {}}


def check(position: int, score: float, loss: float) -> dict[str, float]:
    return {"position": position, "rows": 16 * position, "score": score, "loss": loss}


def curve(record: TrialRecord) -> list[tuple[int, float, float]]:
    return [(point.rows, point.score, point.loss) for point in record.curve]


def test_the_journal_folds_into_records_in_order_of_suggestion(finished_run: Run) -> None:
    first, second, third = finished_run.trials()
    assert [first.id, second.id, third.id] == ["a", "b", "c"]
    assert (first.status, first.score, first.report_score, first.parameters) == ("done", 0.6, 0.5, 40)
    assert first.percent == 4.0
    assert first.interval == (0.4, 0.6)
    assert first.metrics == {"f1": 0.5}
    assert curve(first) == [(32, 0.3, 0.5), (64, 0.6, 0.5)]
    assert (third.status, third.reason, third.score) == ("failed", "loss is not a number after 16 rows", None)
    assert not third.answers


def test_an_unfinished_trial_is_running_with_its_last_score() -> None:
    record = replay([SUGGEST, segment("a", 16, 0.2, seconds=1.5), segment("a", 32, 0.1, seconds=1.5)])["a"]
    assert (record.status, record.rows, record.score, record.seconds) == ("running", 32, 0.1, 3.0)
    assert not record.finished


def test_a_segment_without_a_score_leaves_the_last_one() -> None:
    record = replay([SUGGEST, segment("a", 16, 0.2), segment("a", 32, None)])["a"]
    assert (record.rows, record.score, record.loss) == (32, 0.2, 0.5)
    assert curve(record) == [(16, 0.2, 0.5)]


def test_the_curve_has_every_check_once_and_the_score_is_the_best() -> None:
    """What a head is worth is its best check, told again at each segment's end; it stands where it was."""
    first, best, last = check(2, 0.3, 0.9), check(4, 0.7, 0.6), check(6, 0.5, 0.7)
    record = replay(
        [
            SUGGEST,
            segment("a", 64, None, checks=[first, best], found=best),
            segment("a", 96, None, checks=[last], found=best),
        ]
    )["a"]
    assert curve(record) == [(32, 0.3, 0.9), (64, 0.7, 0.6), (96, 0.5, 0.7)]
    assert (record.rows, record.score, record.loss) == (96, 0.7, 0.6)


def test_a_score_at_a_rung_that_is_no_check_is_a_point_too() -> None:
    record = replay([SUGGEST, segment("a", 48, None, found=check(3, 0.4, 0.8))])["a"]
    assert curve(record) == [(48, 0.4, 0.8)]


@pytest.mark.parametrize("rung", [None, "probe"])
def test_a_rung_of_the_ladder_is_known_by_its_event(rung: str | None) -> None:
    more = {} if rung is None else {"rung": rung}
    record = replay([{**SUGGEST, **more}, finish("a", 0.6, 0.5, loss=0.4)])["a"]
    assert (record.rung, record.loss, record.curve) == (rung, 0.4, ())


def test_a_head_that_learned_once_more_is_chosen_by_what_its_trial_said() -> None:
    """Its own answers on select are no evidence: it has learned from them."""
    events = [SUGGEST, finish("a", 0.6, 0.5, loss=0.4, draws=[0.5, 0.7]), {**encore("a"), "at": 5.0}]
    trial, bagged, single = replay(events, encoder_parameters=1000).values()
    assert (bagged.id, bagged.of, bagged.made) == ("a-bagged", "a", "bagged")
    assert (single.id, single.of, single.made) == ("a-single", "a", "single")
    for record in (bagged, single):
        assert (record.score, record.loss, record.draws) == (0.6, 0.4, (0.5, 0.7))
        assert (record.config, record.status, record.rows, record.seconds) == (trial.config, "done", 96, 2.0)
        assert (record.suggested, record.finished_at) == (5.0, 5.0)
        assert not record.is_searched
    assert (bagged.report_score, bagged.parameters, bagged.percent) == (0.62, 30, 3.0)
    assert (single.report_score, single.parameters, single.percent) == (0.61, 10, 1.0)
    assert trial.is_searched


def test_one_that_failed_at_it_has_no_score() -> None:
    failed = {"status": "failed", "reason": "diverged"}
    lost = {"event": "encore", "of": "a", "rows": 0, "seconds": 0.0, "bagged": failed}
    _, bagged = replay([SUGGEST, finish("a", 0.6, 0.5), lost]).values()
    assert (bagged.id, bagged.status, bagged.reason, bagged.score) == ("a-bagged", "failed", "diverged", None)
    assert not bagged.answers
