"""What a search ends with as MLflow's LoggedModels: each linked to its run, and to the store by digest.

They can be ranked by score and size with `mlflow.search_logged_models`, and loaded by their id. MLflow is
asked first which of them it has, so that none is there twice, whatever was killed or away meanwhile.
"""

import json
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from bv_search.model import ENSEMBLE
from bv_search.model.loading import model_of_run
from bv_search.model.model import Model
from bv_search.run.folder import Run
from bv_search.run.leaderboard import best, flat
from bv_search.run.mlflow import MlflowMirror
from bv_search.run.mlflow_children import RUN_TAG, TRIAL_TAG
from bv_search.run.points import metrics_of, parameter_name
from bv_search.run.trial import TrialRecord
from bv_search.tasks.task import Task

CODE = Path(__file__).with_name("pyfunc.py")
MODEL_TAG = "bv.model"  # what tells models of one run apart
MODEL_TYPE, READY = "bv_search", "READY"
ENDING = 8  # heads that are logged, where there is no finale
VALUE_LIMIT = 500  # characters of a parameter


@dataclass(frozen=True, kw_only=True)
class Ending:
    """A model that a search ends with, before MLflow knows of it."""

    name: str  # for a reader, and of `model_of_run`
    key: str  # of what it is: equal ones are one model
    params: Mapping[str, Any]
    metrics: Mapping[str, float | None]
    at: float  # seconds since 1970
    trial: str | None = None


def endings(run: Run) -> list[Ending]:
    """What the run answers with first; its best head, and what a finale has made, or else the next best."""
    (top, *others), chosen = best(run.trials()), run.ensemble()
    made = [record for record in others if record.of is not None]
    heads = [_of_trial(record) for record in (top, *(made or others[: ENDING - 1]))]
    return heads if chosen is None else [_of_ensemble(run, chosen), *heads]


def _of_ensemble(run: Run, chosen: Mapping[str, Any]) -> Ending:
    members = {member["name"]: f"{member['weight']:g}" for member in chosen["members"]}
    return Ending(
        name=ENSEMBLE,
        key=f"{ENSEMBLE} {chosen['method']} {json.dumps(members)}",
        params={"method": chosen["method"], **{f"weight.{name}": weight for name, weight in members.items()}},
        metrics={
            "select_score": chosen["select_score"],
            "report_score": chosen["score"],
            "parameters": model_of_run(run, ENSEMBLE).parameters,
            **_of_report(chosen["metrics"]),
        },
        at=run.journal.path.stat().st_mtime,
    )


def _of_trial(record: TrialRecord) -> Ending:
    return Ending(
        name=record.id,
        key=record.id,
        trial=record.id,
        params=flat(record.config),
        metrics={
            "select_score": record.score,
            "report_score": record.report_score,
            "parameters": record.parameters,
            "percent": record.percent,
            **_of_report(record.metrics),
        },
        at=record.finished_at or record.suggested,
    )


def _of_report(metrics: Mapping[str, float]) -> dict[str, float]:
    return {f"report_{name}": value for name, value in metrics.items()}


class LoggedModels:
    """Those of one run, in MLflow."""

    def __init__(self, run: Run, mirror: MlflowMirror) -> None:
        self._run, self._mirror = run, mirror
        self._client, self._experiment = mirror.tracking.client, mirror.tracking.experiment
        self._known: dict[str, Any] = {}
        for model in list(self._search()):
            if str(model.status) == READY:
                self._known[model.tags[MODEL_TAG]] = model
            else:  # of a process or a server that was killed
                self._client.delete_logged_model(model.model_id)

    def log(self, ending: Ending, model: Model) -> str:
        """Its id, whether it is new or not. A model is whole once MLflow says that it is ready."""
        if (known := self._known.get(ending.key)) is not None:
            return str(known.model_id)
        source = self._mirror.child_id(ending.trial or "") or self._mirror.parent_id
        logged = self._client.create_logged_model(
            self._experiment,
            name=ending.name,
            source_run_id=source,
            params={parameter_name(name): str(v)[:VALUE_LIMIT] for name, v in ending.params.items()},
            tags={RUN_TAG: self._run.study.id, TRIAL_TAG: ending.trial or "", MODEL_TAG: ending.key},
            model_type=MODEL_TYPE,
        )
        with tempfile.TemporaryDirectory() as folder:
            self._client.log_model_artifacts(logged.model_id, str(save_served(model, Path(folder))))
        self._link(ending, logged.model_id, source)
        self._known[ending.key] = self._client.finalize_logged_model(logged.model_id, READY)
        return str(logged.model_id)

    def _link(self, ending: Ending, model_id: str, source: str) -> None:
        """To the run that it came of, and to the store, by the metrics that it has there."""
        from mlflow.entities import DatasetInput, InputTag, LoggedModelOutput, Metric

        dataset = self._dataset()
        context = [InputTag("mlflow.data.context", "training")]
        self._client.log_inputs(source, datasets=[DatasetInput(dataset, context)])
        self._client.log_outputs(source, [LoggedModelOutput(model_id, step=0)])
        metrics = [
            Metric(
                each.key,
                each.value,
                each.timestamp,
                each.step,
                model_id=model_id,
                dataset_name=dataset.name,
                dataset_digest=dataset.digest,
                run_id=source,
            )
            for each in metrics_of(ending.metrics, at=ending.at, step=0)
        ]
        self._client.log_batch(source, metrics=metrics)

    def _dataset(self) -> Any:
        """The store. MLflow has room for 36 characters of a digest: it goes without the name of its kind."""
        from mlflow.entities import Dataset

        study = self._run.study
        return Dataset(
            name=Path(study.store).name,
            digest=study.store_digest.rpartition(":")[2],
            source_type="bv_search_store",
            source=json.dumps({"uri": study.store, "digest": study.store_digest}),
        )

    def _search(self) -> Iterator[Any]:
        token = None
        while True:
            page = self._client.search_logged_models(
                [self._experiment],
                filter_string=f"tags.`{RUN_TAG}` = '{self._run.study.id}'",
                page_token=token,
            )
            yield from page
            token = page.token
            if not token:
                return


def save_served(model: Model, folder: Path) -> Path:
    """As MLflow serves it: the code in `pyfunc.py`, and the model's own folder beside it."""
    import mlflow

    saved = model.save_pretrained(folder / "model")
    served = folder / "served"
    mlflow.pyfunc.save_model(
        served,
        python_model=str(CODE),
        artifacts={"model": str(saved)},
        signature=_signature(model.task),
        pip_requirements=_requirements(),
        metadata={"bv.encoder": model.encoder.digest, "bv.model": model.name, "bv.task": model.task.name},
    )
    return served


def _signature(task: Task) -> Any:
    from mlflow.models import ModelSignature
    from mlflow.types import ColSpec, Schema

    from bv_search.model.pyfunc import input_columns

    return ModelSignature(
        inputs=Schema([ColSpec("string", name) for name in input_columns(task)]),
        outputs=Schema([ColSpec(task.prediction_type, "prediction")]),
    )


def _requirements() -> list[str]:
    """Named, or MLflow would start the model to find them out; so it would with an example of its input."""
    try:
        return [f"bv-search=={version('bv-search')}", f"mlflow=={version('mlflow')}"]
    except PackageNotFoundError:
        return [f"mlflow=={version('mlflow')}"]
