"""What the cluster files install and this machine's Python lacks, for hosts that reach no package index."""

import json
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

from tests.cluster.hosts import REPOSITORY

CONSTRAINTS = REPOSITORY / "constraints.txt"


def fetch_missing(folder: Path) -> None:
    """Each as a file in the folder, and nothing of it installed here."""
    folder.mkdir(parents=True)
    wanted = [f"ray[default]=={version('ray')}", "s3fs", "hatchling", "editables"]
    found = _pip("install", "--dry-run", "--report", "-", "--constraint", str(CONSTRAINTS), *wanted)
    lacking = [each["metadata"] for each in json.loads(found)["install"]]
    if lacking:
        names = [f"{each['name']}=={each['version']}" for each in lacking]
        _pip("download", "--no-deps", "--dest", str(folder), *names)


def _pip(*words: str) -> str:
    command = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
