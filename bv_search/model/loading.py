"""A model from what stands on disk: a run, a trial's folder, a head's folder, a saved model.

A head's config.json says what the head was trained on (task, encoder, channels), so that neither its run nor
its store is needed to answer new rows.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bv_search.document import Text
from bv_search.errors import HeadError, RunError, UnknownName
from bv_search.files import decode_at, home_path, read_signed
from bv_search.heads.config import HeadShape
from bv_search.heads.copies import load_heads
from bv_search.heads.folder import CONFIG_FILE
from bv_search.model import BEST, ENSEMBLE, SMALLEST
from bv_search.model.combine import Method
from bv_search.model.model import ENCODER_NAME, Member, Model, is_model
from bv_search.run.folder import JOURNAL, Run
from bv_search.run.leaderboard import smallest
from bv_search.run.roles import find_near
from bv_search.source.channels import Channels
from bv_search.source.reference import EncoderReference
from bv_search.store.store import Store
from bv_search.tasks.registry import task_from_json
from bv_search.tasks.task import Task


@dataclass(frozen=True, kw_only=True)
class Context:
    """What a head means: the task it solves, the encoder it reads and how."""

    task: Task
    encoder: EncoderReference
    channels: Channels
    store: str | None = None  # where the store was that it was trained on

    @classmethod
    def of_store(cls, store: Store) -> "Context":
        return cls(
            task=store.task,
            encoder=EncoderReference.of(store.manifest.encoder),
            channels=Channels.of(store.manifest),
            store=store.path,
        )

    @classmethod
    def of_head(cls, folder: Path) -> "Context | None":
        """As config.json has it; None where a head was saved without."""
        value = read_signed(folder / CONFIG_FILE, HeadError)
        if "encoder" not in value:
            return None
        where = folder / CONFIG_FILE
        said = decode_at(_Said, value, HeadError, where=where, more=True)
        encoder = EncoderReference.from_json(said.encoder, where=where)
        place = find_near(encoder.place, folder, sign="config.json") or encoder.place
        channels: dict[str, Any] = {
            name: value[name] for name in ("layers", "tokens", "dtype", "precision") if name in value
        }
        return cls(
            task=task_from_json(value.get("task"), where),
            encoder=replace(encoder, place=place),
            channels=Channels.from_json(
                {"dtype": "float16", **channels, "width": said.shape.width}, where=where
            ),
            store=None if said.store is None else said.store.path,
        )


@dataclass(frozen=True, kw_only=True)
class _Place:
    path: Text | None = None


@dataclass(frozen=True, kw_only=True)
class _Said:
    """What a head's config.json says beside the head."""

    encoder: Mapping[str, Any]
    shape: HeadShape
    store: _Place | None = None


def open_model(place: str | Path, *, member: str | None = None, store: Store | None = None) -> Model:
    """The model at `place`. A run answers with its ensemble if it has one, else with its best head."""
    path = home_path(place)
    if not path.is_dir():
        raise HeadError("does not exist", where=path, expected="a run, a head or a saved model")
    if is_run(path):
        return model_of_run(Run.open(path), member)
    if member is not None:
        raise HeadError("--member chooses in a run, and this is none", where=path, do="leave --member away")
    if is_model(path):
        return Model.from_pretrained(path)
    if (path / CONFIG_FILE).is_file():
        return model_of_head(path, store)
    raise HeadError(
        "is neither a run nor a head",
        where=path,
        expected=f"a folder with {JOURNAL}, model.json or {CONFIG_FILE}",
        found=", ".join(sorted(child.name for child in path.iterdir())[:4]) or "an empty folder",
    )


def is_run(place: Path) -> bool:
    return (place / JOURNAL).is_file()


def model_of_head(folder: Path, store: Store | None = None) -> Model:
    """A head on its own."""
    heads = load_heads(folder)
    shape = heads[0].shape
    context = Context.of_head(folder) or (None if store is None else Context.of_store(store))
    if context is None:
        raise HeadError(
            "does not say which encoder it reads",
            where=folder / CONFIG_FILE,
            do="give the store that it was trained on with --store",
        )
    channels = context.channels
    if (shape.layers, shape.width) != (len(channels.layers), channels.width):
        raise HeadError(
            "does not fit the store",
            where=folder,
            expected=f"{len(channels.layers)}x{channels.width}",
            found=str(shape),
        )
    return _model(context, Method.SINGLE, (Member(name=folder.resolve().name, heads=heads),))


def model_of_run(run: Run, member: str | None = None) -> Model:
    """`member` is a trial, "best", "smallest", "ensemble" or "encoder"."""
    ensemble = run.ensemble()
    member = member or (ENSEMBLE if ensemble is not None else BEST)
    if member == ENSEMBLE:
        if ensemble is None:
            raise RunError("has no ensemble", where=run.path, do=f"bv-search ensemble {run.path}")
        members = tuple(_ensemble_member(run, each) for each in ensemble["members"])
        return _model(_context(run), Method(ensemble["method"]), members)
    if member == ENCODER_NAME:
        return _model(_context(run), Method.SINGLE, (Member(name=ENCODER_NAME, heads=()),))
    return model_of_head(run.head_folder(find_trial(run, member)))


def find_trial(run: Run, member: str) -> str:
    """The id of a finished trial, by its id or its standing."""
    ranked = run.finished_trials()
    if member == BEST:
        return ranked[0].id
    if member == SMALLEST:
        return smallest(ranked).id
    known = [record.id for record in ranked]
    if member not in known:
        raise UnknownName("member", member, [*known, BEST, SMALLEST, ENSEMBLE, ENCODER_NAME])
    return member


def _context(run: Run) -> Context:
    """All heads of a run share it."""
    folder = run.head_folder(find_trial(run, BEST))
    context = Context.of_head(folder)
    if context is None:
        raise HeadError("does not say which encoder it reads", where=folder / CONFIG_FILE)
    return context


def _ensemble_member(run: Run, value: dict[str, Any]) -> Member:
    """A member as ensemble.json names it; heads of other runs by the way to their folders."""
    weight = float(value["weight"])
    if value["trial"] is None:
        return Member(name=ENCODER_NAME, heads=(), weight=weight)
    heads = load_heads(run.at(value["run"]).head_folder(value["trial"]))
    return Member(name=value["name"], heads=heads, weight=weight)


def _model(context: Context, method: Method, members: tuple[Member, ...]) -> Model:
    return Model(
        task=context.task,
        encoder=context.encoder,
        channels=context.channels,
        method=method,
        members=members,
        store=context.store,
    )
