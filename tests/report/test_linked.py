"""The data of the linked charts: what each head was drawn as, and what became of it."""

import json
from math import nan

from bv_search.report.linked import MOST_AXES, Column, columns_of, head_columns
from bv_search.run import TrialRecord


def head(number: int, config: dict[str, object], **known: object) -> TrialRecord:
    values = {"status": "done", "score": 0.5, "report_score": 0.6, "parameters": 10**number, **known}
    return TrialRecord(id=f"{number}", config=config, **values)


def test_a_few_numbers_are_levels_in_their_order_and_many_are_a_range() -> None:
    records = [
        head(n, {"head": {"size": (16, 128, 64)[n % 3], "skip": n % 2 == 0}, "rate": 10.0**-n, "batch": 256})
        for n in range(1, 8)
    ]
    found = {column.key: column.to_json() for column in columns_of(records)}
    assert set(found) == {"head.size", "head.skip", "rate"}  # a batch that never varies explains nothing
    assert found["head.size"]["levels"] == ["16", "64", "128"]
    assert found["head.size"]["values"][:3] == [2, 1, 0]
    assert found["head.skip"]["levels"] == ["false", "true"]
    assert (found["rate"]["scale"], found["rate"]["title"]) == ("log", "rate")


def test_a_share_of_the_data_is_a_measure_where_heads_differ_in_it() -> None:
    records = [head(1, {"data_fraction": 0.1}), head(2, {"data_fraction": 0.5}), head(3, {}, rung="probe")]
    found = head_columns(records, metric="f1").to_json()
    (share,) = [column for column in found["columns"] if column["title"] == "share of the data"]
    assert share["values"] == [0.1, 0.5, 1.0]
    assert share["key"] in found["x"]
    same = head_columns([head(1, {}), head(2, {})], metric="f1", share=0.5).to_json()
    assert share["key"] not in same["x"]


def test_scores_stand_on_a_straight_axis_however_far_apart() -> None:
    records = [head(1, {"rate": 0.1}, report_score=0.01), head(2, {"rate": 0.2}, report_score=0.9)]
    scales = {
        column["key"]: column["scale"] for column in head_columns(records, metric="f1").to_json()["columns"]
    }
    assert (scales["report"], scales["parameters"]) == ("linear", "linear")
    many = head_columns([*records, head(5, {})], metric="f1").to_json()["columns"]
    assert next(column["scale"] for column in many if column["key"] == "parameters") == "log"


def test_what_a_head_does_not_have_is_none() -> None:
    records = [head(1, {"head": {"size": 16}}), head(2, {"head": {}}), head(3, {"head": {"size": 64}})]
    (column,) = columns_of(records)
    assert column.to_json()["values"] == [0, None, 1]


def test_what_explains_most_stands_last_and_the_least_is_left_out() -> None:
    records = [head(n, {f"p{i}": n * (i + 1) + 0.5 for i in range(12)}) for n in range(1, 9)]
    assert len(columns_of(records)) == MOST_AXES


def test_rungs_are_told_from_the_search_and_give_it_no_axis() -> None:
    drawn = [head(n, {"head": {"kind": "linear", "channels": "all"}, "rate": 0.1 * n}) for n in (1, 2)]
    probe = head(3, {"head": {"kind": "linear", "channels": 4}}, rung="probe")
    found = head_columns([*drawn, probe], metric="f1").to_json()
    assert found["columns"][0]["levels"] == ["ladder", "linear"]
    assert "head.channels" not in found["axes"]
    assert "rate" in found["axes"]


def test_the_data_is_json_whatever_a_score_is() -> None:
    records = [head(1, {"rate": 0.1}, report_score=nan), head(2, {"rate": 0.2})]
    found = head_columns(records, metric="f1").to_json()
    report = next(column for column in found["columns"] if column["key"] == "report")
    assert report["values"] == [None, 0.6]
    json.dumps(found, allow_nan=False)
    assert "seconds" not in found["x"]  # nobody took any


def test_a_column_of_one_value_does_not_vary() -> None:
    assert not Column(key="a", title="a", values=[1, None, 1]).varies
    assert Column(key="a", title="a", values=[1, True]).varies


def test_a_run_of_no_heads_has_columns_without_values() -> None:
    found = head_columns([], metric="f1").to_json()
    assert all(column["values"] == [] for column in found["columns"])
