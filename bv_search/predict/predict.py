"""Predicting: which model answers which rows, and where the answers go."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bv_search.command import AUTO, Progress
from bv_search.errors import StoreError, UserError
from bv_search.files import home_path, real_path
from bv_search.model import ENSEMBLE
from bv_search.model.answer import Answers, answer_rows, answer_store
from bv_search.model.loading import is_run, open_model
from bv_search.model.model import NAME_ENCODER, Model
from bv_search.predict.config import PredictConfig
from bv_search.predict.output import check_output, write_answers
from bv_search.run.folder import Run
from bv_search.run.roles import find_near, open_store
from bv_search.source.live import feed_live
from bv_search.store.layout import MANIFEST
from bv_search.store.store import Store
from bv_search.tasks.dataset import load_dataset, read_rows
from bv_search.tasks.row import Role, Row
from bv_search.tasks.task import Task


@dataclass(frozen=True, kw_only=True)
class PredictResult:
    out: Path
    model: Model
    answers: Answers

    def to_json(self) -> dict[str, Any]:
        value = {"predictions": len(self.answers.rows), "out": str(self.out), "model": self.model.name}
        if self.answers.evaluation is None:
            return value
        evaluation, (low, high) = self.answers.evaluation, self.answers.interval
        return {**value, "metrics": evaluation.metrics, "score": evaluation.score, "interval": [low, high]}

    def text(self) -> str:
        lines = [f"{len(self.answers.rows):,} predictions of {self.model.name} in {self.out}"]
        if (evaluation := self.answers.evaluation) is not None:
            low, high = self.answers.interval
            lines.append(f"score {evaluation.score:.4f}, 95 % interval {low:.4f} to {high:.4f}")
            lines.append("  ".join(f"{name} {value:.4f}" for name, value in evaluation.metrics.items()))
        return "\n".join(lines)


def run(config: PredictConfig, progress: Progress) -> PredictResult:
    """Everything that can be wrong with the request is looked at before any work."""
    if config.store is not None and config.data is not None:
        raise UserError("both --store and --data are given", expected="one of them", do="leave one away")
    if config.out is not None:
        check_output(home_path(config.out), overwrite=config.overwrite)
    other = None if config.store is None else Store.open(config.store)
    model = open_model(config.place, member=config.member, store=other)
    _tell_of_later_heads(config, progress)
    out = home_path(config.out) if config.out else default_out(config, model)
    answers = _answer(config, model, other, progress)
    write_answers(out, answers.rows)
    return PredictResult(out=out, model=model, answers=answers)


def _tell_of_later_heads(config: PredictConfig, progress: Progress) -> None:
    by_ensemble = config.member in {None, ENSEMBLE} and is_run(home_path(config.place))
    if by_ensemble and (sentence := Run.open(config.place).unconsidered()) is not None:
        progress.say(sentence)


def default_out(config: PredictConfig, model: Model) -> Path:
    """One file per model and name of a source, which the next run of the same command replaces."""
    named = config.data or config.store
    source = (
        real_path(home_path(named)).name if named else "own-report"
    )  # whole: of mrpc-0.3 the stem is mrpc-0
    name = f"{model.name.replace('/', '-')}-{source}{model.task.suffix}"
    return home_path(config.place) / "predictions" / name


def _answer(config: PredictConfig, model: Model, other: Store | None, progress: Progress) -> Answers:
    if config.data is None:
        return answer_store(model, _fed(config, other or _own_store(config, model)), progress=progress)
    rows = rows_of(model.task, home_path(config.data))
    encoder = model.load_encoder(config.encoder, device=config.device)
    return answer_rows(model, encoder, rows, progress=progress)


def _fed(config: PredictConfig, store: Store) -> Store:
    """A store that keeps no hidden states has them made by its encoder."""
    if store.manifest.keeps_blocks:
        _refuse_unused(config, store)
        return store
    return feed_live(store, place=config.encoder, device=config.device, do=NAME_ENCODER)


def _refuse_unused(config: PredictConfig, store: Store) -> None:
    for option, given in (("--encoder", config.encoder), ("--device", config.device)):
        if given not in (None, AUTO):
            raise UserError(
                f"{option} would do nothing",
                where=store.path,
                expected="rows in --data, or a store that keeps no hidden states",
                found=f"{option} {given}",
                do=f"leave {option} out",
            )


def rows_of(task: Task, place: Path) -> tuple[Row, ...]:
    """The rows of a file, labelled or not; of a folder with a data set, the ones to report on."""
    if not place.is_dir():
        return read_rows(task, place)
    splits = load_dataset(task, str(place)).splits
    return tuple(row for split in splits if split.role == Role.REPORT for row in split.rows)


def _own_store(config: PredictConfig, model: Model) -> Store:
    if is_run(home_path(config.place)):
        return open_store(Run.open(config.place))
    place = None if model.store is None else find_near(model.store, home_path(config.place), sign=MANIFEST)
    if place is None:
        raise StoreError(
            "the store that the model was made on is not there",
            where=model.store,
            do="name rows with --data, or a store with --store",
        )
    return Store.open(place)
