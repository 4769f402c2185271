"""Work that waits for somebody ends soon after they are gone."""

import signal
import subprocess
import sys
import time

import pytest

from bv_search import watchdog as module
from bv_search.errors import BvError
from bv_search.watchdog import watchdog

GONE = BvError("the other one has died", do="start it again")


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CHECK_SECONDS", 0.1)


def test_work_is_broken_off_where_what_it_waits_for_is_gone() -> None:
    begun, found = time.monotonic(), [None, GONE, None, GONE, GONE]
    with pytest.raises(BvError, match="the other one has died"), watchdog(lambda: found.pop(0), lambda: None):
        time.sleep(60)
    assert time.monotonic() - begun < 10
    assert signal.getsignal(module.ALARM) is signal.SIG_DFL


def test_an_interrupt_stays_one() -> None:
    with pytest.raises(KeyboardInterrupt), watchdog(lambda: None, lambda: None):
        raise KeyboardInterrupt


def test_what_is_gone_at_an_orderly_end_is_no_error() -> None:
    found: list[str] = []
    with watchdog(lambda: GONE if found else None, lambda: None) as stop_checks:
        stop_checks()
        found.append("the end")
        time.sleep(3 * module.CHECK_SECONDS)


STUBBORN = """
import time
from bv_search import watchdog
from bv_search.errors import BvError

watchdog.PATIENCE_SECONDS = 0.2
with watchdog.watchdog(lambda: BvError("it has died"), lambda: print("let go", flush=True)):
    while True:
        try:
            time.sleep(60)
        except KeyboardInterrupt:
            pass
"""


def test_work_that_does_not_hear_of_it_is_ended() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", STUBBORN], capture_output=True, text=True, timeout=60, check=False
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (1, "let go\n", "bv-search: it has died\n")
