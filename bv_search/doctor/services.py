"""Ray and MLflow: which version, which address, and does anybody answer there within seconds?"""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from threading import Thread
from urllib.parse import urlsplit

from bv_search.cluster import find_address
from bv_search.errors import BvError
from bv_search.run.tracking import check_there, find_uri

SECONDS = 7.0
"""To wait for all of them at once; a knock alone may take longer."""


@dataclass(frozen=True, kw_only=True)
class Service:
    name: str
    version: str
    address: str | None  # None: nobody is asked, one is started here
    trouble: str | None  # None: it answers, or need not


def look(runs: Path) -> list[Service]:
    """Both at once, so that one which never answers holds up nobody."""
    ray, tracking = os.environ.get("RAY_ADDRESS"), find_uri(runs)
    asked: list[tuple[str, str | None, Callable[[str], object]]] = [
        ("ray", ray or None, find_address),
        ("mlflow", tracking if os.environ.get("MLFLOW_TRACKING_URI") else None, check_there),
    ]
    knocks = [_Knock(check, address) for _, address, check in asked]
    for knock in knocks:
        knock.start()
    deadline = time.monotonic() + SECONDS
    found = []
    for (name, address, _), knock in zip(asked, knocks, strict=True):
        knock.join(max(0.0, deadline - time.monotonic()))
        shown = None if address is None else without_secrets(address)
        trouble = None if knock.trouble is None else knock.trouble.replace(str(address), str(shown))
        found.append(Service(name=name, version=version(name), address=shown, trouble=trouble))
    return found


def without_secrets(address: str) -> str:
    """A name and a password may stand in it."""
    parts = urlsplit(address)
    if "@" not in parts.netloc:
        return address
    return parts._replace(netloc=f"…@{parts.netloc.rpartition('@')[2]}").geturl()


class _Knock(Thread):
    """One check that is left to itself where it takes too long."""

    def __init__(self, check: Callable[[str], object], address: str | None) -> None:
        super().__init__(daemon=True)
        self._check, self._address = check, address
        self.trouble = None if address is None else f"no answer within {SECONDS:g} s"

    def run(self) -> None:
        if self._address is None:
            return
        try:
            self._check(self._address)
        except (BvError, OSError, ValueError, RuntimeError) as error:
            self.trouble = str(error)
        else:
            self.trouble = None
