"""A run's figures as MLflow's metrics and parameters: few names, which never change."""

from collections.abc import Iterator, Mapping
from typing import Any

from bv_search.run.folder import Run
from bv_search.run.trial import TrialRecord


def curve_metrics(record: TrialRecord, known: int) -> Iterator[Any]:
    for point in record.curve[known:]:
        values = {"select_score": point.score, "select_loss": point.loss}
        yield from metrics_of(values, at=point.at, step=point.rows)


def final_metrics(record: TrialRecord) -> list[Any]:
    values = {
        "report_score": record.report_score,
        "parameters": record.parameters,
        "percent": record.percent,
        "rows": record.rows,
        "seconds": record.seconds,
    }
    if not record.curve:
        values |= {"select_score": record.score, "select_loss": record.loss}
    return metrics_of(values, at=record.finished_at or 0.0, step=record.rows)


def metrics_of(values: Mapping[str, float | None], *, at: float, step: int) -> list[Any]:
    """Times come from the journal, so that a point which is written twice is one point."""
    from mlflow.entities import Metric

    return [
        Metric(name, float(value), milliseconds(at), step)
        for name, value in values.items()
        if value is not None
    ]


def study_params(run: Run) -> dict[str, Any]:
    study = run.study
    return {
        "task": study.task_name,
        "store": study.store,
        "store_digest": study.store_digest,
        "searcher": study.searcher,
        "scheduler": study.scheduler,
        "trials": study.trials,
        "seed": study.seed,
        "pack": study.pack,
        "generation": study.generation,
        "data_fraction": study.data_fraction,
        "folds": study.folds,
        "finalists": study.finalists,
        "seeds": study.seeds,
        "encoder_parameters": study.encoder_parameters,
    }


def milliseconds(seconds: float) -> int:
    return round(seconds * 1000)


def parameter_name(name: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "_-./ " else "_" for letter in name)
