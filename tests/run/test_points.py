"""A run's figures as MLflow's, each under a name that it takes."""

from typing import Any

import pytest

from bv_search.run import Run, TrialRecord
from bv_search.run.points import curve_metrics, final_metrics, metrics_of, parameter_name, study_params
from bv_search.run.trial import CurvePoint

CURVE = (
    CurvePoint(rows=16, score=0.2, loss=0.9, at=1.5),
    CurvePoint(rows=32, score=0.4, loss=0.7, at=2.25),
)


def said(metrics: Any) -> list[tuple[str, float, int, int]]:
    return [(each.key, each.value, each.timestamp, each.step) for each in metrics]


def test_of_a_curve_only_what_is_new_is_told_with_its_time_and_rows() -> None:
    record = TrialRecord(id="a", config={}, curve=CURVE)
    assert said(curve_metrics(record, 1)) == [("select_score", 0.4, 2250, 32), ("select_loss", 0.7, 2250, 32)]
    assert len(said(curve_metrics(record, 0))) == 4
    assert not said(curve_metrics(record, 2))


def test_the_score_on_select_is_told_in_the_end_where_there_was_no_curve() -> None:
    figures: dict[str, Any] = {"score": 0.4, "loss": 0.7, "report_score": 0.5, "rows": 32, "finished_at": 3.0}
    with_curve = TrialRecord(id="a", config={}, curve=CURVE, **figures)
    without = TrialRecord(id="a", config={}, **figures)
    assert {name for name, *_ in said(final_metrics(with_curve))} == {"report_score", "rows", "seconds"}
    assert set(said(final_metrics(without))) >= {
        ("select_score", 0.4, 3000, 32),
        ("select_loss", 0.7, 3000, 32),
    }


def test_what_nobody_knows_is_left_out() -> None:
    assert said(metrics_of({"one": None, "other": 0.0}, at=1.0, step=2)) == [("other", 0.0, 1000, 2)]


@pytest.mark.parametrize(
    ("name", "taken"),
    [("head.size", "head.size"), ("a b/c-d_e", "a b/c-d_e"), ("weight.a:b|c", "weight.a_b_c")],
)
def test_letters_that_mlflow_does_not_take_are_replaced(name: str, taken: str) -> None:
    assert parameter_name(name) == taken


def test_a_study_is_told_by_its_settings(run: Run) -> None:
    params = study_params(run)
    assert (params["task"], params["searcher"], params["trials"]) == ("squad2-span", "random", 4)
    assert "id" not in params
    assert "space" not in params
