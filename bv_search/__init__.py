"""Find the best small head on a transformer's hidden states.

    import bv_search as bv

    stage = bv.finetune("mrpc", encoder="bert-base-uncased", data="glue/MRPC", fraction=0.3)
    store = bv.extract(stage, data="glue/MRPC")
    run = bv.tune(store, space="adapters", trials=32)
    run.leaderboard()

Each verb of the command line is a function here. docs/python.md has all of them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

# A verb is a package and a function. Importing a package sets its name here, so that comes first, and the
# functions take the names afterwards. `from bv_search.tune.config import …` finds the package all the same.
for _verb in (
    "demo",
    "doctor",
    "ensemble",
    "export",
    "extract",
    "finetune",
    "pipeline",
    "predict",
    "report",
    "tune",
    "verify",
):
    import_module(f"{__name__}.{_verb}")

from bv_search.api.verbs import (  # noqa: E402
    demo,
    doctor,
    dry_run,
    ensemble,
    export,
    extract,
    finetune,
    pipeline,
    predict,
    report,
    rerun,
    resume,
    tune,
    verify,
)

if TYPE_CHECKING:
    from bv_search.api.run import AnsweringRun as Run
    from bv_search.errors import BvError as BvError
    from bv_search.errors import DataError as DataError
    from bv_search.errors import EncoderError as EncoderError
    from bv_search.errors import HeadError as HeadError
    from bv_search.errors import OutputError as OutputError
    from bv_search.errors import RunError as RunError
    from bv_search.errors import SpaceError as SpaceError
    from bv_search.errors import StoreError as StoreError
    from bv_search.errors import UnknownName as UnknownName
    from bv_search.errors import UserError as UserError
    from bv_search.finetune.stage_folder import SavedStage as Stage
    from bv_search.heads.alone import HeadAlone as Head
    from bv_search.model.model import Model as Model
    from bv_search.store.store import Store as Store

_ERRORS = (
    "BvError", "DataError", "EncoderError", "HeadError", "OutputError", "RunError", "SpaceError",
    "StoreError", "UnknownName", "UserError",
)  # fmt: skip
_CLASSES = {  # imported when they are first asked for: with torch, and seconds
    **{name: ("bv_search.errors", name) for name in _ERRORS},
    "Head": ("bv_search.heads.alone", "HeadAlone"),
    "Model": ("bv_search.model.model", "Model"),
    "Run": ("bv_search.api.run", "AnsweringRun"),
    "Stage": ("bv_search.finetune.stage_folder", "SavedStage"),
    "Store": ("bv_search.store.store", "Store"),
}

__all__ = [
    "BvError",
    "DataError",
    "EncoderError",
    "Head",
    "HeadError",
    "Model",
    "OutputError",
    "Run",
    "RunError",
    "SpaceError",
    "Stage",
    "Store",
    "StoreError",
    "UnknownName",
    "UserError",
    "demo",
    "doctor",
    "dry_run",
    "ensemble",
    "export",
    "extract",
    "finetune",
    "pipeline",
    "predict",
    "report",
    "rerun",
    "resume",
    "tune",
    "verify",
]


if not TYPE_CHECKING:  # or a checker would believe every name

    def __getattr__(name: str) -> Any:
        if name not in _CLASSES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module, attribute = _CLASSES[name]
        return getattr(import_module(module), attribute)


def __dir__() -> list[str]:
    return __all__
