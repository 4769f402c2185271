"""What `import bv_search` gives, and what it costs."""

import subprocess
import sys
from dataclasses import MISSING, fields
from importlib import import_module
from inspect import Parameter, isfunction, signature
from typing import Any, get_type_hints

import pytest

import bv_search as bv
from bv_search.api import options
from bv_search.ensemble.config import EnsembleConfig
from bv_search.errors import BvError
from bv_search.export.config import ExportConfig
from bv_search.extract.config import ExtractConfig
from bv_search.finetune.config import FinetuneConfig
from bv_search.pipeline.config import PipelineConfig
from bv_search.predict.config import PredictConfig
from bv_search.report.config import ReportConfig
from bv_search.run.folder import Run
from bv_search.store.layout import BlockLimits
from bv_search.store.store import Store
from bv_search.study.config import StudiesConfig
from bv_search.tune.config import TuneConfig

CLASSES = "Head Model Run Stage Store"
ERRORS = (
    "BvError DataError EncoderError HeadError OutputError RunError SpaceError StoreError UnknownName "
    "UserError"
)
VERBS = (
    "demo doctor dry_run ensemble export extract finetune pipeline predict quote report rerun resume "
    "study tune verify"
)
WIDER = {"space", "heads", "warm_start", "runs", "method"}
"""Options that take more than their config does, which is made of them."""


def test_the_names_are_these() -> None:
    assert bv.__all__ == sorted([*CLASSES.split(), *ERRORS.split(), *VERBS.split()])
    assert dir(bv) == bv.__all__


def test_each_is_what_it_says() -> None:
    for name in CLASSES.split():
        assert isinstance(getattr(bv, name), type)
    for name in ERRORS.split():
        assert issubclass(getattr(bv, name), BvError)
    assert bv.Store is Store
    assert issubclass(bv.Run, Run)
    with pytest.raises(AttributeError, match="no attribute 'tuna'"):
        bv.tuna  # type: ignore[attr-defined]  # noqa: B018


def test_a_verb_is_a_function_whatever_of_its_package_is_imported() -> None:
    for module in (
        "tune.search",
        "finetune.finetuning",
        "extract.extraction",
        "report.report",
        "demo.demonstration",
    ):
        import_module(f"bv_search.{module}")
    for name in VERBS.split():
        verb = getattr(bv, name)
        assert isfunction(verb)
        assert verb.__doc__


def test_importing_it_imports_neither_torch_nor_ray() -> None:
    heavy = "{'torch', 'ray', 'transformers', 'mlflow', 'pandas', 'numpy', 'pyarrow'}"
    code = f"import sys, bv_search; sys.exit(' '.join({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr == "\n" or not done.stderr, done.stderr


@pytest.mark.parametrize(
    ("taken", "config", "by_name"),
    [
        (options.FinetuneOptions, FinetuneConfig, "task encoder fractions out data"),
        (options.ExtractOptions, ExtractConfig, "task encoder out data"),
        (options.TuneOptions, TuneConfig, "store resume"),
        (options.PredictOptions, PredictConfig, "place store"),
        (options.EnsembleOptions, EnsembleConfig, "runs"),
        (options.StudyOptions, StudiesConfig, "task encoder out data"),
        (options.ExportOptions, ExportConfig, "run to"),
        (options.PipelineOptions, PipelineConfig, "task encoder out data"),
    ],
)
def test_options_are_the_fields_of_the_config(taken: Any, config: Any, by_name: str) -> None:
    """All but those that the function names itself, with the same types."""
    known = {"Run": Run, "BlockLimits": BlockLimits}
    ours = get_type_hints(taken, localns=known)
    theirs = get_type_hints(config)
    assert set(ours) == {field.name for field in fields(config)} - set(by_name.split())
    for name in set(ours) - WIDER:
        assert ours[name] == theirs[name], name


@pytest.mark.parametrize(
    ("verb", "config"),
    [
        (bv.finetune, FinetuneConfig),
        (bv.extract, ExtractConfig),
        (bv.report, ReportConfig),
        (bv.predict, PredictConfig),
        (bv.pipeline, PipelineConfig),
        (bv.study, StudiesConfig),
        (bv.quote, StudiesConfig),
        (bv.rerun, TuneConfig),
    ],
)
def test_what_a_function_names_itself_has_the_config_s_default(verb: Any, config: Any) -> None:
    defaults = {field.name: field.default for field in fields(config) if field.default is not MISSING}
    named = {
        name: parameter.default
        for name, parameter in signature(verb).parameters.items()
        if name in defaults and parameter.default is not Parameter.empty
    }
    assert named == {name: defaults[name] for name in named}
    assert named


def test_a_report_is_asked_for_by_the_names_of_its_config() -> None:
    taken = set(signature(bv.report).parameters) - {"run", "progress"}
    assert taken == {field.name for field in fields(ReportConfig)} - {"runs"}
