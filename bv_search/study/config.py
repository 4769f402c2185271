"""What studies are asked for, and where each step leaves what.

FOLDER/stages/0.3  stores/0.3  runs/heads-0.3 …    what steps leave, by stage
       exchange/0.3-on-1.json                      heads of one stage on another's hidden states
       studies.json                                what must be the same when they go on
       tables/  figures/  study.html               what the studies come to
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from bv_search.encoder.stage import stage_name
from bv_search.errors import UnknownName, UserError
from bv_search.extract.config import ExtractConfig
from bv_search.finetune.config import FinetuneConfig
from bv_search.options import DataOption, EncoderOption, Option, OutOption, TaskOption
from bv_search.words import names, numbers, positive_int, yes_or_no

CURVE, HEADS, DATA, TRANSFER = "curve", "heads", "data", "transfer"
ENSEMBLES, LAYERS, ERRORS, ANSWER = "ensembles", "layers", "errors", "answer"
SEARCHES = "search"
STUDIES = (CURVE, HEADS, SEARCHES, DATA, TRANSFER, ENSEMBLES, LAYERS, ERRORS, ANSWER)

STAGES, STORES, RUNS, EXCHANGE = "stages", "stores", "runs", "exchange"
TABLES, FIGURES, PAGE, SETTINGS = "tables", "figures", "study.html", "studies.json"
TENTHS = tuple(number / 10 for number in range(1, 11))


@dataclass(frozen=True, kw_only=True)
class StudiesConfig:
    task: TaskOption
    encoder: EncoderOption
    out: OutOption
    data: DataOption = None
    stages: Annotated[
        tuple[float, ...],
        Option(
            "epochs of fine-tuning, 0 is the encoder as it comes (default: 0,0.1,0.3,1,2)",
            read=numbers,
            metavar="F,…",
        ),
    ] = (0.0, 0.1, 0.3, 1.0, 2.0)
    fractions: Annotated[
        tuple[float, ...],
        Option(
            "of the data that the best head learns from; 0.1..1 in tenths (default: 0.1..1)",
            read=numbers,
            metavar="F,…|F..F",
        ),
    ] = TENTHS
    heads: Annotated[
        str | Mapping[str, Any],
        Option(
            "a grid: its heads are trained at every stage (default: paper-span or paper-classification)",
            metavar="SPACE",
        ),
    ] = ""
    space: Annotated[
        str | Mapping[str, Any],
        Option("searched at every stage (default: adapters for spans, classification for the rest)"),
    ] = ""
    trials: Annotated[
        int | None,
        Option("heads of each search (default: as of tune)", read=positive_int),
    ] = None
    seeds: Annotated[int, Option("times that each head is trained", read=positive_int)] = 3
    cap: Annotated[
        float,
        Option("of the encoder's parameters, that the heads of an ensemble may have", metavar="PERCENT"),
    ] = 1.0
    only: Annotated[
        tuple[str, ...], Option(f"some of {', '.join(STUDIES)} (default: all)", read=names, metavar="STUDY,…")
    ] = STUDIES
    keep_stores: Annotated[
        bool,
        Option(
            "no: the encoder feeds the heads as they train, and no hidden state is kept (default: yes)",
            read=yes_or_no,
            metavar="yes|no",
        ),
    ] = True

    def __post_init__(self) -> None:
        for name in self.only:
            if name not in STUDIES:
                raise UnknownName("study", name, STUDIES)
        if not self.only:
            raise UserError("no study is asked for", expected=f"some of {', '.join(STUDIES)}")
        for fraction in self.fractions:
            if not 0 < fraction <= 1:
                raise UserError(
                    "a fraction of the data is wrong", expected="numbers above 0 and up to 1", found=fraction
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
            task=self.task, encoder=self.encoder, fractions=self.stages, out=self.out / STAGES, data=self.data
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
