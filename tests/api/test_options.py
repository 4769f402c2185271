"""Options in Python are the fields of the configs, with the same names, types and defaults."""

from dataclasses import MISSING, fields
from inspect import Parameter, signature
from typing import Any, get_type_hints

import pytest

import bv_search as bv
from bv_search.api import options
from bv_search.ensemble.config import EnsembleConfig
from bv_search.export.config import ExportConfig
from bv_search.extract.config import ExtractConfig
from bv_search.finetune.config import FinetuneConfig
from bv_search.pipeline.config import PipelineConfig
from bv_search.predict.config import PredictConfig
from bv_search.report.config import ReportConfig
from bv_search.run.folder import Run
from bv_search.store.layout import BlockLimits
from bv_search.study.config import StudiesConfig
from bv_search.tune.config import TuneConfig

WIDER = {"space", "heads", "warm_start", "runs", "method"}
"""Options that take more than their config does, which is made of them."""


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
