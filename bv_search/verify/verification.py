"""Every file of a store or a run against its digest."""

from pathlib import Path

from bv_search.command import Progress
from bv_search.errors import StoreError, UserError
from bv_search.run.folder import JOURNAL, Run
from bv_search.run.verify import verify_run
from bv_search.store.layout import MANIFEST
from bv_search.store.store import Store
from bv_search.store.verify import Verification, verify_store


def run(place: str, progress: Progress) -> Verification:
    """Of whichever stands there."""
    if "://" not in place and (Path(place) / JOURNAL).is_file():
        return verify_run(Run.open(place), progress)
    try:
        store = Store.open(place)
    except StoreError as error:
        if error.expected != MANIFEST:
            raise
        raise UserError(
            "is neither a store nor a run",
            where=place,
            expected=f"a folder with {MANIFEST} or {JOURNAL}",
            found=error.found,
        ) from error
    return verify_store(store, progress)
