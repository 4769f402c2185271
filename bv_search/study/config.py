"""What studies are asked for, and where each step leaves what.

FOLDER/stages/0.3  stores/0.3  runs/heads-0.3 …    what steps leave, by stage
       exchange/0.3-on-1.json                      heads of one stage on another's hidden states
       studies.json                                what must be the same when they go on
       tables/  figures/  study.html               what the studies come to
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bv_search.encoder.stage import stage_name
from bv_search.errors import UnknownName, UserError
from bv_search.extract.config import ExtractConfig
from bv_search.finetune.config import FinetuneConfig

CURVE, HEADS, DATA, TRANSFER = "curve", "heads", "data", "transfer"
ENSEMBLES, LAYERS, ERRORS, ANSWER = "ensembles", "layers", "errors", "answer"
SEARCHES = "search"
STUDIES = (CURVE, HEADS, SEARCHES, DATA, TRANSFER, ENSEMBLES, LAYERS, ERRORS, ANSWER)

STAGES, STORES, RUNS, EXCHANGE = "stages", "stores", "runs", "exchange"
TABLES, FIGURES, PAGE, SETTINGS = "tables", "figures", "study.html", "studies.json"
TENTHS = tuple(number / 10 for number in range(1, 11))


@dataclass(frozen=True, kw_only=True)
class StudiesConfig:
    task: str  # a name, or the path of a YAML file
    encoder: str  # a transformers folder, or a name on the Hub
    out: Path  # the folder for all of it
    data: str | None = None  # a local folder or file; None: the Hub
    stages: tuple[float, ...] = (0.0, 0.1, 0.3, 1.0, 2.0)  # epochs of fine-tuning
    fractions: tuple[float, ...] = TENTHS  # of the rows that the best head learns from
    heads: str | Mapping[str, Any] = ""  # the grid of heads; "": paper-span or paper-classification
    space: str | Mapping[str, Any] = ""  # what is searched at each stage; "": by the task
    trials: int | None = None  # heads of each search; None: as `tune` has it
    seeds: int = 3  # times that each head is trained
    cap: float = 1.0  # % of the encoder's parameters that the heads of an ensemble may have
    only: tuple[str, ...] = STUDIES
    keep_stores: bool = True  # False: the encoder feeds the heads as they train, and no hidden state is kept

    def __post_init__(self) -> None:
        for name in self.only:
            if name not in STUDIES:
                raise UnknownName("study", name, STUDIES)
        if not self.only:
            raise UserError("no study is asked for", expected=f"some of {', '.join(STUDIES)}")
        for fraction in self.fractions:
            if not 0 < fraction <= 1:
                raise UserError(
                    "a fraction of the data is wrong",
                    expected="numbers above 0 and up to 1",
                    found=fraction,
                )
        if not self.fractions:
            raise UserError("no fractions of the data", expected="numbers such as 0.1,0.5,1")
        if self.seeds < 1:
            raise UserError("the number of seeds is wrong", expected="at least 1", found=self.seeds)
        if not 0 < self.cap <= 100:
            raise UserError("the cap is wrong", expected="% of the encoder's parameters", found=self.cap)
        self.finetuning()  # whose config checks the stages

    @property
    def marks(self) -> tuple[float, ...]:
        """The stages, each once, from the least fine-tuning up."""
        return self.finetuning().marks

    @property
    def shares(self) -> tuple[float, ...]:
        """Fractions of the data, each once, from the least up."""
        return tuple(sorted(set(self.fractions)))

    def finetuning(self) -> FinetuneConfig:
        return FinetuneConfig(
            task=self.task,
            encoder=self.encoder,
            fractions=self.stages,
            out=self.out / STAGES,
            data=self.data,
        )

    def extraction(self, stage: float) -> ExtractConfig:
        return ExtractConfig(
            task=self.task,
            encoder=str(self.stage_path(stage)),
            out=str(self.store_path(stage)),
            data=self.data,
            format="npy" if self.keep_stores else "none",
        )

    def stage_path(self, stage: float) -> Path:
        return self.out / STAGES / stage_name(stage)

    def store_path(self, stage: float) -> Path:
        return self.out / STORES / stage_name(stage)

    def run_path(self, name: str, stage: float) -> Path:
        return self.out / RUNS / f"{name}-{stage_name(stage)}"

    def exchange_path(self, learned: float, scored: float) -> Path:
        return self.out / EXCHANGE / f"{stage_name(learned)}-on-{stage_name(scored)}.json"

    def settings(self) -> dict[str, Any]:
        """What decides what the steps make: the same when they go on. Stages may be added, and studies."""
        return {
            "task": self.task,
            "encoder": self.encoder,
            "data": self.data,
            "fractions": list(self.shares),
            "heads": _plain(self.heads),
            "space": _plain(self.space),
            "trials": self.trials,
            "seeds": self.seeds,
            "keep_stores": self.keep_stores,
        }


def _plain(space: str | Mapping[str, Any]) -> Any:
    return space if isinstance(space, str) else dict(space)
