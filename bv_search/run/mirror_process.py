"""The mirror's work in a process of its own: for a trial MLflow takes as long as all else in the driver.

    python -m bv_search.run.mirror_process RUN PARENT

It may be killed at any time: what it wrote is found by the next mirror, and the rest is in the journal.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

EVERY_SECONDS = 5.0
PRIORITY = 10  # heads go before


class MirrorProcess:
    """Ends with the process that began it."""

    def __init__(self, run: Path) -> None:
        command = [sys.executable, "-m", __name__, str(run.resolve()), str(os.getpid())]
        # a session of its own: Ctrl-C is the search's to answer
        self._process = subprocess.Popen(  # noqa: S603
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()


def main(run: str, parent: str) -> None:
    from bv_search.run.folder import Run
    from bv_search.run.mlflow import MlflowMirror

    def goes_on() -> bool:
        return os.getppid() == int(parent)

    os.nice(PRIORITY)
    mirror = MlflowMirror(Run.open(run))
    while goes_on():
        mirror.sync(goes_on=goes_on)
        time.sleep(EVERY_SECONDS)


if __name__ == "__main__":
    main(*sys.argv[1:])
