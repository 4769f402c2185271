"""The page's list of commands for one's own machines, typed line by line on a laptop, against three hosts."""

import csv
import json
import re
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from bv_search.run.folder import LEADERBOARD
from tests.cluster.clusters import Cluster, watching, with_cpus
from tests.cluster.page import Line, read_list

OWN = "Your own machines"
SCANS, ENCODES = "ray::ScanWorker", "ray::MapWorker"


def verb(line: Line) -> str:
    """Of ours, where a job has one; else of Ray's."""
    found = re.search(r"bv-search (\w+)", line.command) or re.search(r"ray (\S+)", line.command)
    return "export" if found is None else found[1]


@pytest.fixture(scope="module")
def typed(cluster: Cluster) -> dict[str, Any]:
    """What each line's command printed, and which processes it had where, by its verb."""
    said: dict[str, Any] = {}
    for line in read_list(OWN):
        began = time.monotonic()
        with watching(lambda: cluster.hosts) as seen:
            if line.again:
                said[verb(line)] = cluster.type_until(line, with_cpus(6))
            elif verb(line) == "down":
                said["before down"] = cluster.of_ray()
                said["down"] = cluster.type(line).stdout
            else:
                said[verb(line)] = cluster.type(line).stdout
            if line.beside:
                cluster.type_until("ray job list", lambda _: True)
        said[f"{verb(line)} processes"] = dict(seen)
        sys.stdout.write(f"{time.monotonic() - began:6.1f} s  {line.command}\n")
    return said


def test_every_line_of_the_page_works(typed: dict[str, Any]) -> None:
    verbs = [verb(line) for line in read_list(OWN)]
    assert set(verbs) <= {*typed, "export"}
    for name in ("finetune", "extract", "tune", "ensemble", "report"):
        assert "succeeded" in typed[name], typed[name]


def test_both_workers_encoded_and_trained(typed: dict[str, Any], cluster: Cluster) -> None:
    for name, mark in (("extract", ENCODES), ("tune", SCANS)):
        where = {host for host, kind in typed[f"{name} processes"] if kind == mark}
        assert {host.name for host in cluster.workers} <= where, f"{name}: {mark} only on {where}"


def test_the_run_came_home_whole(typed: dict[str, Any], cluster: Cluster) -> None:
    said = json.loads(cluster.type("bv-search verify runs/first --json").stdout)
    assert said["damaged"] == []


def test_nothing_is_left_after_down(typed: dict[str, Any], cluster: Cluster) -> None:
    assert set(typed["before down"]) == {host.name for host in cluster.hosts}
    assert cluster.head.name not in cluster.of_ray()
    for host in cluster.workers:  # which have no container that would be stopped
        host.run("ray stop")
    assert not cluster.of_ray()


def test_one_host_finds_the_same(typed: dict[str, Any], cluster: Cluster) -> None:
    (tune,) = (line for line in read_list(OWN) if verb(line) == "tune")
    alone = tune.command.partition("-- ")[2].replace("--runs /shared/runs", "--runs /shared/alone")
    cluster.type(alone)
    ours, theirs = (scores(cluster.shared / place / "first") for place in ("runs", "alone"))
    assert next(iter(ours)) == next(iter(theirs)), "the winner"
    assert ours == theirs


def scores(run: Path) -> dict[str, tuple[str, ...]]:
    """Of each trial, the winner first; the order of equals hangs on rounding, and so on threads."""
    with (run / LEADERBOARD).open() as file:
        rows = list(csv.DictReader(file))
    return {row["trial"]: (row["status"], row["select_score"], row["report_score"]) for row in rows}
