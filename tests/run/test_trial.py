from bv_search.run import Run, fold


def test_the_journal_folds_into_records_in_order_of_suggestion(finished_run: Run) -> None:
    first, second, third = finished_run.trials()
    assert [first.id, second.id, third.id] == ["a", "b", "c"]
    assert (first.status, first.score, first.report_score, first.parameters) == ("done", 0.6, 0.5, 40)
    assert first.percent == 4.0
    assert first.interval == (0.4, 0.6)
    assert first.metrics == {"f1": 0.5}
    assert [(rung.rows, rung.score) for rung in first.rungs] == [(32, 0.3), (32, 0.6)]
    assert (third.status, third.reason, third.score) == ("failed", "loss is not a number after 16 rows", None)
    assert not third.answers


def test_an_unfinished_trial_is_running_with_its_last_score() -> None:
    records = fold(
        [
            {"event": "suggest", "trial": "a", "config": {}},
            {"event": "segment", "trial": "a", "rows": 16, "score": 0.2, "seconds": 1.5},
            {"event": "segment", "trial": "a", "rows": 32, "score": 0.1, "seconds": 1.5},
        ]
    )
    record = records["a"]
    assert (record.status, record.rows, record.score, record.seconds) == ("running", 32, 0.1, 3.0)
    assert not record.finished


def test_a_trial_suggested_again_starts_again() -> None:
    begin = {"event": "suggest", "trial": "a", "config": {}}
    segment = {"event": "segment", "trial": "a", "rows": 16, "score": 0.2, "seconds": 1.5}
    assert fold([begin, segment, begin])["a"].rungs == ()


def test_a_stopped_trial_keeps_its_last_score_and_says_why() -> None:
    record = fold(
        [
            {"event": "suggest", "trial": "a", "config": {}},
            {"event": "segment", "trial": "a", "rows": 16, "score": 0.2, "seconds": 1.5},
            {"event": "finish", "trial": "a", "status": "stopped", "rows": 16, "reason": "asha at 16 rows"},
        ]
    )["a"]
    assert (record.score, record.reason, record.finished) == (0.2, "asha at 16 rows", True)
    assert not record.answers
