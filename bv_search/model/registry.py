"""A run's best model into MLflow: logged to the study's run, and a new version in the registry."""

import io
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from bv_search.errors import RunError
from bv_search.model.model import Model
from bv_search.run.mlflow import MlflowMirror
from bv_search.run.tracking import reaching
from bv_search.tasks.task import Task

CODE = Path(__file__).with_name("pyfunc.py")


@dataclass(frozen=True, kw_only=True)
class Registered:
    name: str
    version: str
    uri: str  # for mlflow.pyfunc.load_model


def registered_name(task: Task) -> str:
    return f"bv_search-{task.name}"


def register(model: Model, mirror: MlflowMirror) -> Registered | None:
    """The new version, or None where MLflow could not be reached (`mirror.trouble` says why)."""
    try:
        with reaching(mirror.uri), tempfile.TemporaryDirectory() as folder:
            saved = model.save_pretrained(Path(folder) / "model")
            return _log(model, mirror, saved)
    except RunError as error:
        mirror.trouble = str(error)
        return None


def _log(model: Model, mirror: MlflowMirror, saved: Path) -> Registered:
    import mlflow

    name = registered_name(model.task)
    with _fluent(mirror.uri), mlflow.start_run(run_id=mirror.parent_id):
        logged = mlflow.pyfunc.log_model(
            name="model",
            python_model=str(CODE),
            artifacts={"model": str(saved)},
            signature=_signature(model.task),
            pip_requirements=_requirements(),
            registered_model_name=name,
            metadata={"bv.encoder": model.encoder.digest, "bv.model": model.name, "bv.task": model.task.name},
        )
    number = str(logged.registered_model_version)
    return Registered(name=name, version=number, uri=f"models:/{name}/{number}")


@contextmanager
def _fluent(uri: str) -> Iterator[None]:
    """Logging a model goes by MLflow's global state, which is put back as it was.

    It writes the address into the environment too, where a later run would take it for the user's wish; and
    it talks on standard error, which is the user's progress.
    """
    import mlflow

    before = mlflow.get_tracking_uri() if mlflow.is_tracking_uri_set() else None
    mlflow.set_tracking_uri(uri)
    try:
        with redirect_stderr(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        mlflow.set_tracking_uri(before)


def _columns(task: Task) -> tuple[str, ...]:
    from bv_search.model.pyfunc import input_columns

    return input_columns(task)


def _signature(task: Task) -> Any:
    from mlflow.models import ModelSignature
    from mlflow.types import ColSpec, Schema

    return ModelSignature(
        inputs=Schema([ColSpec("string", name) for name in _columns(task)]),
        outputs=Schema([ColSpec(task.prediction_type, "prediction")]),
    )


def _requirements() -> list[str]:
    """Named, or MLflow would start the model to find them out; so it would with an example of its input."""
    try:
        return [f"bv-search=={version('bv-search')}", f"mlflow=={version('mlflow')}"]
    except PackageNotFoundError:
        return [f"mlflow=={version('mlflow')}"]
