"""What a run reads of its store: the windows of a role, and the encoder's own logits for them.

A role may have several splits (MNLI has two evaluation sets); everything here is over all of them, in the
manifest's order, and predictions of trials are in that order too.
"""

from pathlib import Path

import numpy as np

from bv_search.errors import StoreError
from bv_search.run.folder import Run
from bv_search.run.study import RIDE
from bv_search.scan.store_view import role_index
from bv_search.store.layout import MANIFEST
from bv_search.store.store import Store
from bv_search.tasks.dataset import load_dataset
from bv_search.tasks.row import Dataset, Role


def open_store(run: Run) -> Store:
    """The store that a run was made on, and no other."""
    refuse_ride(run)
    place = find_near(run.study.store, run.path, sign=MANIFEST)
    if place is None:
        raise StoreError(
            "the run's store is not there",
            where=run.study.store,
            do="put it back, or beside the run as it was",
        )
    store = Store.open(place)
    if store.digest != run.study.store_digest:
        raise StoreError(
            f"is not the store that run {run.name} was made on",
            where=store.path,
            expected=f"digest {run.study.store_digest}",
            found=store.digest,
            do="give that store its old place back",
        )
    return store


def refuse_ride(run: Run) -> None:
    """Whoever needs the store of heads that rode along with fine-tuning: there never was one."""
    if run.study.source == RIDE:
        raise StoreError(
            "its heads rode along with fine-tuning, so there is no store",
            where=run.path,
            expected="a run of bv-search tune",
            do=f"bv-search extract --encoder {run.study.store}, then tune; predict needs no store",
        )


def find_near(place: str, folder: Path, *, sign: str) -> str | None:
    """Where it was noted to be, or, where both were moved together, beside `folder` as it was before.

    There it is known by the end of its path, and by a file that it must have.
    """
    noted = Path(place)
    if "://" in place or noted.exists():
        return place
    parts = noted.parts[noted.is_absolute() :]
    tails = [Path(*parts[start:]) for start in range(len(parts))]
    candidates = (parent / tail for tail in tails for parent in folder.resolve().parents)
    return next((str(candidate) for candidate in candidates if (candidate / sign).exists()), None)


def role_ids(store: Store, role: Role | str) -> list[str]:
    ids: list[str] = role_index(store, role, ["id"])["id"].to_pylist()
    return ids


def encoder_logits(store: Store, role: Role | str) -> list[np.ndarray] | None:
    """The encoder's own predictions, or None where it was never fine-tuned."""
    found: list[np.ndarray] = []
    for split in store.splits(role):
        logits = split.encoder_logits()
        if logits is None:
            return None
        found.extend(logits)
    return found


def check_data(store: Store, data: str | None) -> Dataset | None:
    """Read it; refuse data that the store was not made of. None asks nothing."""
    if data is None:
        return None
    return dataset_of(store, data)


def dataset_of(store: Store, data: str | None) -> Dataset:
    """What the store was made of; None is the Hub's."""
    dataset = load_dataset(store.task, data)
    if (found := dataset.digest) != store.manifest.data:
        raise StoreError(
            "was made of other data",
            where=store.path,
            expected=f"digest {store.manifest.data}",
            found=f"{found} in {data or 'the data set of the Hub'}",
            do="leave --data away, or give the data that the store was made of",
        )
    return dataset
