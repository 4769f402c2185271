"""What `import bv_search` gives, and what it costs."""

import subprocess
import sys
from importlib import import_module
from inspect import isfunction

import pytest

import bv_search as bv
from bv_search.errors import BvError
from bv_search.run.folder import Run
from bv_search.store.store import Store

CLASSES = "Head Model Run Stage Store"
ERRORS = (
    "BvError DataError EncoderError HeadError OutputError RunError SpaceError StoreError UnknownName "
    "UserError"
)
VERBS = (
    "demo doctor dry_run ensemble export extract finetune pipeline predict quote report rerun resume "
    "study tune verify"
)


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
