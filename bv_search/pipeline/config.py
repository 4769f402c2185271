"""What the pipeline is asked to do.

FOLDER/stages/0.3  store  run  model    what the steps leave, in their order
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bv_search.extract.config import ExtractConfig
from bv_search.finetune.config import FinetuneConfig
from bv_search.tune.config import TuneConfig

STAGES, STORE, RUN, MODEL = "stages", "store", "run", "model"


@dataclass(frozen=True, kw_only=True)
class PipelineConfig:
    task: str  # a name, or the path of a YAML file
    encoder: str  # a transformers folder, or a name on the Hub
    out: Path  # the folder for all of it
    data: str | None = None  # a local folder or file; None: the Hub
    fraction: float = 0.3  # of an epoch of fine-tuning
    space: str | Mapping[str, Any] = ""  # as of TuneConfig
    trials: int | None = None  # as of TuneConfig

    def finetuning(self) -> FinetuneConfig:
        return FinetuneConfig(
            task=self.task,
            encoder=self.encoder,
            fractions=(self.fraction,),
            out=self.out / STAGES,
            data=self.data,
        )

    def extraction(self, stage: Path) -> ExtractConfig:
        return ExtractConfig(task=self.task, encoder=str(stage), out=str(self.out / STORE), data=self.data)

    def search(self, *, resume: bool) -> TuneConfig:
        return TuneConfig(
            space=self.space,
            store=str(self.out / STORE),
            trials=self.trials,
            name=RUN,
            runs=self.out,
            resume=resume,
        )
