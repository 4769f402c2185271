"""Machines are cut off in searches and extractions: nothing is lost, nothing comes out otherwise.

`BV_ROUNDS=10` disturbs in each way ten times.
"""

import csv
import os
import re
import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from random import Random
from typing import Any

import pytest

from bv_search.run.folder import LEADERBOARD, Run
from bv_search.store.layout import MANIFEST
from tests.cluster.clusters import BUCKET, Cluster, with_cpus
from tests.cluster.page import read_list
from tests.cluster.trouble import TROUBLES

pytestmark = pytest.mark.slow

ROUNDS = int(os.environ.get("BV_ROUNDS", "1"))
TROUBLE_SECONDS = 20.0
SEARCH_SECONDS = 900.0
TRIALS = 20
CPUS = 6
DATA = "--task squad2-span --encoder /shared/bert --data /shared/squad2"
STORE = "/shared/stores/squad"
BUCKETS = f"s3://{BUCKET}/stores"


def tune(name: str, store: str) -> str:
    return (
        f"bv-search tune --space adapters --trials {TRIALS} --workers 3 --seed 1 --store {store} "
        f"--runs /shared/runs --name {name}"
    )


def extract(out: str) -> str:
    return f"bv-search extract {DATA} --block-size 200kB --workers 4 --precision float32 --out {out}"


class Job:
    """A command on the head, while something happens to the cluster."""

    def __init__(self, cluster: Cluster, name: str, command: str) -> None:
        self._cluster, self._name = cluster, name
        cluster.type(f"ray job submit --no-wait --submission-id {name} -- {command}")
        self._began = time.monotonic()

    def end(self) -> tuple[str, float]:
        """What became of it, and after how many seconds."""
        while True:
            said = self._cluster.type(f"ray job status {self._name}", check=False).stdout
            if found := re.search(r"^.*Job '.*' (succeeded|failed|was stopped)", said, re.MULTILINE):
                return found[1], time.monotonic() - self._began
            assert time.monotonic() - self._began < SEARCH_SECONDS, self.log()
            time.sleep(2)

    def log(self) -> str:
        return self._cluster.type(f"ray job logs {self._name} | tail -30", check=False).stdout


@pytest.fixture(scope="module")
def up(cluster: Cluster) -> Cluster:
    """As the page does it, down to `ray status`."""
    for line in read_list("Your own machines"):
        if line.again:
            cluster.type_until(line, with_cpus(CPUS))
            break
        cluster.type(line)
        if line.beside:
            cluster.type_until("ray job list", lambda _: True)
    return cluster


def whole(cluster: Cluster) -> None:
    """All hosts are in it again; where Ray does not see to that, who keeps it does, by `ray up`."""
    try:
        cluster.type_until("ray job submit -- ray status", with_cpus(CPUS), seconds=90)
    except AssertionError:
        cluster.type("ray up --yes cluster/cpu.yaml")
        cluster.type_until("ray job submit -- ray status", with_cpus(CPUS))


@pytest.fixture(scope="module")
def undisturbed(up: Cluster) -> dict[str, Any]:
    """The same search and the same extraction, in peace."""
    up.type(f"ray job submit -- {extract(STORE)}")
    job = Job(up, "peace", tune("peace", STORE))
    status, seconds = job.end()
    assert status == "succeeded", job.log()
    return {"scores": scores(up, "peace"), "seconds": seconds, "manifest": manifest(up, STORE)}


def scores(cluster: Cluster, name: str) -> list[tuple[str, ...]]:
    """Each trial's, the winner first."""
    with (cluster.shared / "runs" / name / LEADERBOARD).open() as file:
        return [(row["trial"], row["status"], row["select_score"]) for row in csv.DictReader(file)]


def manifest(cluster: Cluster, store: str) -> str:
    """It names the digest of each file, and each file has it."""
    cluster.type(f"bv-search verify {store}")
    read = f"from bv_search.store.folder import open_folder; print(open_folder('{store}').read('{MANIFEST}'))"
    return cluster.type(f'python -c "{read}"').stdout


def cases() -> Iterator[Any]:
    for number in range(ROUNDS):
        for kind in TROUBLES:
            yield pytest.param(kind, number, id=f"{kind}-{number}")


@pytest.mark.parametrize(("kind", "number"), list(cases()))
def test_a_search_ends_as_if_nothing_had_happened(
    up: Cluster, undisturbed: dict[str, Any], kind: str, number: int
) -> None:
    random = Random(f"{kind} {number}")
    whole(up)
    name = f"search-{kind}-{number}"
    store = STORE
    if kind == "busy-store":
        store = f"{BUCKETS}/squad"
        up.type(f"ray job submit -- {extract(store)}")  # once; it finds that all is done already
    job = Job(up, name, tune(name, store))
    disturb(up, kind, random, undisturbed["seconds"])
    status, seconds = job.end()
    assert status == "succeeded", job.log()
    events = Run.open(up.shared / "runs" / name).events()
    for word in ("suggest", "finish"):
        assert set(Counter(event["trial"] for event in events if event["event"] == word).values()) == {1}
    own = [row for row in scores(up, name) if re.fullmatch(r"\d{4}", row[0])]
    assert len(own) >= TRIALS
    assert scores(up, name) == undisturbed["scores"]
    print_line(f"{name}: {seconds:.0f} s, {undisturbed['seconds']:.0f} s in peace")


@pytest.mark.parametrize(("kind", "number"), list(cases()))
def test_an_extraction_has_the_bytes_of_an_unbroken_one(
    up: Cluster, undisturbed: dict[str, Any], kind: str, number: int
) -> None:
    random = Random(f"{kind} {number}")
    whole(up)
    name = f"extract-{kind}-{number}"
    out = f"{BUCKETS}/{name}" if kind == "busy-store" else f"/shared/stores/{name}"
    job = Job(up, name, extract(out))
    disturb(up, kind, random, 30.0)
    status, seconds = job.end()
    assert status == "succeeded", job.log()
    assert manifest(up, out) == undisturbed["manifest"]
    print_line(f"{name}: {seconds:.0f} s")


@pytest.mark.parametrize("number", range(ROUNDS))
def test_a_lost_head_is_set_up_again_and_the_run_goes_on(
    up: Cluster, undisturbed: dict[str, Any], number: int
) -> None:
    random = Random(f"head {number}")
    whole(up)
    name = f"head-{number}"
    Job(up, name, tune(name, STORE))
    time.sleep(random.uniform(0.3, 0.9) * undisturbed["seconds"])
    for process in up.head.of_ray():
        os.kill(process, signal.SIGKILL)
    up.type("ray up --yes cluster/cpu.yaml")
    up.type_until("ray job submit -- ray status", with_cpus(CPUS), seconds=180)
    job = Job(up, f"{name}-resumed", f"bv-search tune --resume {name} --workers 3 --runs /shared/runs")
    status, _ = job.end()
    assert status == "succeeded", job.log()
    assert scores(up, name) == undisturbed["scores"]


def disturb(cluster: Cluster, kind: str, random: Random, seconds: float) -> None:
    """At a random moment of the time that the work takes in peace."""
    time.sleep(random.uniform(0.1, 0.9) * seconds)
    with ExitStack() as stack:
        stack.enter_context(TROUBLES[kind](cluster, random.choice(cluster.workers)))
        time.sleep(TROUBLE_SECONDS)


def print_line(text: str) -> None:
    os.write(1, f"{text}\n".encode())
