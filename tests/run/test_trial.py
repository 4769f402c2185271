from bv_search.run import Run, fold


def test_the_journal_folds_into_records_in_order_of_suggestion(finished_run: Run) -> None:
    first, second, third = finished_run.trials()
    assert [first.id, second.id, third.id] == ["a", "b", "c"]
    assert (first.status, first.score, first.report_score, first.parameters) == ("done", 0.6, 0.5, 40)
    assert first.percent == 4.0
    assert first.interval == (0.4, 0.6)
    assert first.metrics == {"f1": 0.5}
    assert [(rung.rows, rung.score) for rung in first.rungs] == [(32, 0.3), (64, 0.6)]
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


def test_a_segment_without_a_score_leaves_the_last_one() -> None:
    records = fold(
        [
            {"event": "suggest", "trial": "a", "config": {}},
            {"event": "segment", "trial": "a", "rows": 16, "score": 0.2, "seconds": 1.5},
            {"event": "segment", "trial": "a", "rows": 32, "score": None, "seconds": 1.5},
        ]
    )
    assert (records["a"].rows, records["a"].score) == (32, 0.2)
