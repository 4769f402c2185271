"""The heads that rode along up to a stage, as a run: `stages/mrpc/heads/0.3`, beside `stages/mrpc/0.3`.

It has a journal, a leaderboard and a folder for each head, so whatever opens a run opens it. It has no store.
Free of torch.
"""

from dataclasses import dataclass
from pathlib import Path

from bv_search.encoder.stage import Stage, stage_name
from bv_search.errors import OutputError
from bv_search.finetune.ride import Ride
from bv_search.run.folder import TRIALS, Run
from bv_search.run.leaderboard import best
from bv_search.run.study import RIDE
from bv_search.run.trial import TrialRecord

HEADS = "heads"


@dataclass(frozen=True, kw_only=True)
class SavedHeads:
    """What stands at a stage."""

    path: Path  # of their run
    best: TrialRecord | None  # by select; None: all have failed
    heads: int
    seconds: float  # of their training
    kept: bool  # they were there already

    @property
    def score(self) -> float | None:
        """Of the best, on select."""
        return None if self.best is None else self.best.score


def heads_folder(out: Path, fraction: float) -> Path:
    return out / HEADS / stage_name(fraction)


def is_heads_folder(folder: Path) -> bool:
    return folder.name == HEADS and all((child / TRIALS).is_dir() for child in folder.glob("[!.]*"))


def read_heads(path: Path, *, kept: bool) -> SavedHeads:
    run = Run.open(path)
    trials = run.trials()
    return SavedHeads(
        path=path,
        best=next(iter(best(trials)), None),
        heads=len(trials),
        seconds=run.seconds().get(RIDE, 0.0),
        kept=kept,
    )


def find_heads(out: Path, stage: Stage, ride: Ride, heads: int) -> SavedHeads | None:
    """Those that are there already, if they are of this stage and this ride."""
    path = heads_folder(out, stage.fraction)
    if not path.exists():
        return None
    study = Run.open(path).study
    found = {
        "space": study.space == ride.to_json(),
        "trials": study.trials == heads,
        "seed": study.seed == ride.seed,
        "encoder": study.store_digest == stage.weights,
    }
    if other := [name for name, is_same in found.items() if not is_same]:
        raise OutputError(
            "holds heads that rode along otherwise",
            where=path,
            found=f"another {', another '.join(other)}",
            do="choose another --out, or delete it",
        )
    return read_heads(path, kept=True)
