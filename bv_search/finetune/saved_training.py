"""Fine-tuning as it was interrupted: what its next step depends on, on disk beside its stages.

stages/.training/1250/  encoder.safetensors   weights and their optimiser
                        riders.safetensors    what heads that ride along share
                        0000.safetensors …    each of these heads
                        training.json         the step, the settings, digests of the files; written last

A newer one takes an older one's place. Once the stages are there that it was on its way to, it is removed.
"""

import shutil
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from safetensors import SafetensorError

from bv_search.document import Count, Number, Text, one_of
from bv_search.errors import OutputError
from bv_search.files import decode_at, digest_file, folder_being_made, read_signed, write_bytes, write_signed
from bv_search.precision import PRECISIONS

if TYPE_CHECKING:
    from torch import Tensor

FOLDER = ".training"
ABOUT, ENCODER, RIDERS = "training.json", "encoder.safetensors", "riders.safetensors"
LEAST_SECONDS = 60.0  # of training between two of them …
SHARE = 50  # … and so many times as long as the last one took to write


@dataclass(frozen=True, kw_only=True)
class SavedTraining:
    step: Count  # that was the last one
    settings: Text  # digest of all that must be the same
    seconds: Number  # of training up to here
    ride_seconds: Number  # of heads' training
    precision: Annotated[str, one_of(*PRECISIONS)] | None = None  # which is a part of the settings
    files: Mapping[str, Text] = field(default_factory=dict)  # their digests


@dataclass(frozen=True, kw_only=True)
class TrainingState:
    """All tensors of it."""

    encoder: Mapping[str, "Tensor"]
    riders: Mapping[str, "Tensor"] = field(default_factory=dict)
    heads: Mapping[str, bytes] = field(default_factory=dict)


class TrainingFolder:
    """Where it is kept, for one set of settings."""

    def __init__(self, out: Path, settings: str, precision: str) -> None:
        self._folder, self._settings, self._precision = out / FOLDER, settings, precision
        self._kept = time.monotonic()
        self._cost = 0.0

    def is_due(self) -> bool:
        return time.monotonic() - self._kept >= max(LEAST_SECONDS, SHARE * self._cost)

    def keep(self, state: TrainingState, *, step: int, seconds: float, ride_seconds: float) -> None:
        begun = time.monotonic()
        place = self._folder / str(step)
        shutil.rmtree(place, ignore_errors=True)  # of other settings: ours would have gone on from it
        with folder_being_made(place) as part:
            _write(part, state)
            about = SavedTraining(
                step=step,
                settings=self._settings,
                seconds=seconds,
                ride_seconds=ride_seconds,
                precision=self._precision,
                files={path.name: digest_file(path) for path in sorted(part.iterdir())},
            )
            write_signed(part / ABOUT, vars(about))
        for older in _places(self._folder):
            if older != place:
                shutil.rmtree(older, ignore_errors=True)
        self._kept = time.monotonic()
        self._cost = self._kept - begun

    def find(self, *, before: int) -> SavedTraining | None:
        """The newest, if it is of these settings, and of no step from which a stage is still to come."""
        found = _newest(self._folder)
        fits = found is not None and found.settings == self._settings and found.step < before
        return found if fits else None

    def load(self, saved: SavedTraining) -> TrainingState:
        from safetensors.torch import load_file  # with torch

        place = self._folder / str(saved.step)
        for name, expected in saved.files.items():
            path = place / name
            if not path.is_file() or (digest := digest_file(path)) != expected:
                found = digest if path.is_file() else "no such file"
                raise OutputError(
                    "is damaged", where=path, expected=f"digest {expected}", found=found, do=ANEW
                )
        heads = saved.files.keys() - {ENCODER, RIDERS}
        return TrainingState(
            encoder=load_file(place / ENCODER),
            riders=load_file(place / RIDERS),
            heads={Path(name).stem: (place / name).read_bytes() for name in sorted(heads)},
        )

    def forget(self, step: int) -> None:
        """Whoever stands at that step needs none of an earlier one."""
        for place in _places(self._folder):
            if int(place.name) <= step:
                shutil.rmtree(place, ignore_errors=True)
        with suppress(OSError):  # another one is still in it, or it never was
            self._folder.rmdir()


ANEW = f"delete {FOLDER}: fine-tuning then begins anew, and comes to the same"


def begun_precision(out: Path) -> str | None:
    """That of what was interrupted there, whatever else was asked of it."""
    found = _newest(out / FOLDER)
    return None if found is None else found.precision


def _newest(folder: Path) -> SavedTraining | None:
    places = _places(folder)
    if not places:
        return None
    about = read_signed(places[-1] / ABOUT, OutputError, do=ANEW)
    return decode_at(SavedTraining, about, OutputError, where=places[-1] / ABOUT, do=ANEW)


def _places(folder: Path) -> list[Path]:
    found = folder.iterdir() if folder.is_dir() else ()
    return sorted((path for path in found if path.name.isdecimal()), key=lambda path: int(path.name))


def _write(folder: Path, state: TrainingState) -> None:
    from safetensors.torch import save_file

    try:
        save_file(dict(state.encoder), folder / ENCODER)
        # what waits may be a part of a larger tensor
        save_file({name: t.contiguous() for name, t in state.riders.items()}, folder / RIDERS)
    except SafetensorError as error:  # how safetensors puts a full disk
        raise OSError(str(error)) from error
    for trial, data in state.heads.items():
        write_bytes(folder / f"{trial}.safetensors", data)
