"""Kills processes of Ray at work, as an out-of-memory killer would."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

POLL_SECONDS = 0.002


@contextmanager
def killing(*titles: str) -> Iterator[list[str]]:
    """Kill the first process of ours that is seen at each of these works; the list then names the works."""
    killed: list[str] = []
    over = threading.Event()

    def hunt() -> None:
        while len(killed) < len(titles) and not over.wait(POLL_SECONDS):
            for process in Path("/proc").glob("[0-9]*"):
                title = _title(process)
                if title in titles and title not in killed and _is_ours(int(process.name)):
                    killed.append(title)
                    os.kill(int(process.name), signal.SIGKILL)

    hunter = threading.Thread(target=hunt)
    hunter.start()
    try:
        yield killed
    finally:
        over.set()
        hunter.join()


def processes_below(process: int, *parts: str) -> list[int]:
    """Those that it began, and that began these, whose command has such a part."""
    found = {int(path.name): path for path in Path("/proc").glob("[0-9]*")}
    return [
        number
        for number, path in found.items()
        if number != process and any(part in _title(path) for part in parts) and _is_below(number, process)
    ]


def _title(process: Path) -> str:
    """What a worker of Ray calls itself, such as ray::ScanWorker.segment."""
    try:
        return (process / "cmdline").read_bytes().rstrip(b"\0 ").decode(errors="replace")
    except OSError:  # it ended while we looked
        return ""


def _is_ours(process: int) -> bool:
    """Others may search on this machine too."""
    return _is_below(process, os.getpid())


def _is_below(process: int, other: int) -> bool:
    while process > 1 and process != other:
        try:
            status = Path(f"/proc/{process}/stat").read_text()
        except OSError:
            return False
        process = int(status.rpartition(")")[2].split()[1])  # the name before it may hold anything
    return process == other
