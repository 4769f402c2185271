"""What the pipeline is asked to do.

FOLDER/stages/0.3  store  run  model    what the steps leave, in their order
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from bv_search.extract.config import ExtractConfig
from bv_search.finetune.config import FinetuneConfig
from bv_search.options import DataOption, EncoderOption, Option, OutOption, TaskOption
from bv_search.tune.config import TRIALS, SpaceOption, TuneConfig
from bv_search.words import positive_int

STAGES, STORE, RUN, MODEL = "stages", "store", "run", "model"


@dataclass(frozen=True, kw_only=True)
class PipelineConfig:
    task: TaskOption
    encoder: EncoderOption
    out: OutOption
    data: DataOption = None
    fraction: Annotated[float, Option("of an epoch of fine-tuning, before heads are searched")] = 0.3
    space: SpaceOption = ""
    trials: Annotated[int | None, Option(f"heads to try {TRIALS}", read=positive_int)] = None

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
