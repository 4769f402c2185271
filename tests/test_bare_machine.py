"""A machine as bare as a container: no users, no locale, a package that cannot be written, an odd TMPDIR."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]
ONLY_READ = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0"'
NOBODY = "for file in /etc/passwd /etc/nsswitch.conf; do [ ! -e $file ] || mount --bind /dev/null $file; done"
BARE = f'{ONLY_READ} && {NOBODY} && cd "$0" && exec "$@"'
KEPT = {"PATH", "LD_LIBRARY_PATH", "PYTHONPATH", "VIRTUAL_ENV"}  # by which Python is found


def on_a_bare_machine(place: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """As a container sees it that mounts the package and has no users."""
    odd = place / "a place ü"
    odd.mkdir()
    known = {name: value for name, value in os.environ.items() if name in KEPT}
    return subprocess.run(
        ["unshare", "--mount", "sh", "-c", BARE, str(REPOSITORY), sys.executable, *words],
        capture_output=True,
        text=True,
        check=False,
        env={**known, "LC_ALL": "C", "TMPDIR": str(odd)},
    )


@pytest.fixture(autouse=True)
def _mounts(tmp_path: Path) -> None:
    """Only for who may mount."""
    (tmp_path / "tried").mkdir()
    tried = on_a_bare_machine(tmp_path / "tried", "-c", "")
    if tried.returncode:
        pytest.skip(f"no machine can be laid bare here: {tried.stderr.strip()}")


def test_without_a_home_a_search_gets_as_far_as_anywhere(tmp_path: Path) -> None:
    """Ray asks for one, and where to find it among the users."""
    said = on_a_bare_machine(tmp_path, "-m", "bv_search.tune", "--resume", str(tmp_path / "nowhere"))
    assert (said.returncode, said.stdout, len(said.stderr.splitlines())) == (2, "", 1), said.stderr
    assert "nowhere: does not exist; expected the folder of a run" in said.stderr


@pytest.mark.slow
def test_hostile_inputs_are_answered_on_a_bare_machine_too(tmp_path: Path) -> None:
    """Those of each run of the tests."""
    words = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/hostile/test_hostile.py")
    done = on_a_bare_machine(tmp_path, *words)
    assert done.returncode == 0, done.stdout[-5000:]
    assert " passed" in done.stdout
