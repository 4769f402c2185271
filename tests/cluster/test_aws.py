"""`cluster/gpu.yaml` and an EC2 server whose machines are hosts: launched, set up, worked on, torn down."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cluster.amazon import Machines, machines
from tests.cluster.clusters import (
    LAPTOP_ADDRESS,
    SETTINGS,
    Cluster,
    add_laptop,
    start_object_store,
    watching,
    with_cpus,
    without_docker,
)
from tests.cluster.hosts import REPOSITORY, network
from tests.cluster.page import read_list
from tests.cluster.wheels import fetch_missing

GPU = REPOSITORY / "cluster" / "gpu.yaml"
SSH_FROM = f"{LAPTOP_ADDRESS}/32"
GPUS = 2  # of each machine, by name alone
NODES = ("head", "gpu", "gpu-spot")


def small(config: dict[str, Any]) -> dict[str, Any]:
    """One machine of each type, of two cores and two GPUs."""
    types = config["available_node_types"]
    for name in NODES[1:]:
        types[name] |= {
            "min_workers": 1,
            "max_workers": 1,
            "resources": {"CPU": 2, "GPU": GPUS, "memory": 8 << 30},
        }
    return config


@pytest.fixture(scope="module")
def amazon(
    may_build_hosts: None, generated_data: Path, tiny_encoder: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Cluster, Machines]]:
    config = small(without_docker(GPU))
    region = config["provider"]["region"]
    key = f"~/.ssh/ray-autoscaler_{region}.pem"
    with network(tmp_path_factory.mktemp("amazon"), SETTINGS) as made:
        cluster = Cluster(network=made)
        fetch_missing(cluster.shared / "wheels")
        start_object_store(cluster)
        add_laptop(cluster, GPU, config)
        cluster.provide("squad2", generated_data)
        cluster.provide("bert", tiny_encoder)
        with machines(made, region, key) as watched:
            yield cluster, watched


@pytest.fixture(scope="module")
def up(amazon: tuple[Cluster, Machines]) -> tuple[Cluster, Machines]:
    cluster, watched = amazon
    cluster.type(f"python cluster/aws.py --ssh-from {SSH_FROM}")
    for line in read_list("AWS"):
        if "aws.py" in line.command:
            continue
        if line.again:
            break
        cluster.type(line)
    cluster.type_until("ray job submit -- ray status", with_cpus(2 * len(NODES[1:])), seconds=240)
    assert not watched.trouble
    return cluster, watched


def test_one_machine_of_each_type_runs(up: tuple[Cluster, Machines]) -> None:
    _, watched = up
    kinds = {watched.tags(each)["ray-user-node-type"]: each for each in watched.instances}
    assert sorted(kinds) == sorted(NODES)
    assert kinds["gpu-spot"]["InstanceId"] in watched.said["spot"]
    assert kinds["gpu"]["InstanceId"] not in watched.said["spot"]
    wanted = yaml.safe_load(GPU.read_text())["available_node_types"]
    for name, each in kinds.items():
        config = wanted[name]["node_config"]
        assert each["InstanceType"] == config["InstanceType"]
        assert each["ImageId"] == config["ImageId"]
        role = config["IamInstanceProfile"]["Name"]
        assert each["IamInstanceProfile"]["Arn"].endswith(f"/{role}")


def test_nothing_but_ssh_from_here_is_open(up: tuple[Cluster, Machines]) -> None:
    _, watched = up
    used = {group["GroupId"] for each in watched.instances for group in each["SecurityGroups"]}
    (group,) = (each for each in watched.said["groups"] if each["GroupId"] in used)
    ranges = {span["CidrIp"] for rule in group["IpPermissions"] for span in rule["IpRanges"]}
    assert ranges == {SSH_FROM}
    assert not any(rule.get("Ipv6Ranges") for rule in group["IpPermissions"])


def test_each_gpu_has_a_worker(up: tuple[Cluster, Machines]) -> None:
    cluster, watched = up
    common = "--task squad2-span --encoder /shared/bert --data /shared/squad2"
    made = "s3://my-bucket/stores/gpus"
    with watching(lambda: list(watched.hosts.values())) as seen:
        cluster.type(f"ray job submit -- bv-search extract {common} --block-size 100kB --out {made}")
        search = f"bv-search tune --store {made} --space adapters --trials 4 --runs /home/ray/runs"
        cluster.type(f"ray job submit -- {search}")
    for mark in ("ray::MapWorker", "ray::ScanWorker"):
        counts = {name: most for (name, title), most in seen.items() if title == mark}
        assert sorted(counts.values()) == [GPUS] * len(NODES[1:]), f"{mark}: {counts}"


def test_all_of_it_is_gone_after_down(up: tuple[Cluster, Machines]) -> None:
    cluster, watched = up
    cluster.type("ray down --yes cluster/gpu.yaml")
    until = time.monotonic() + 60
    while any(each["State"]["Name"] != "terminated" for each in watched.instances):
        assert time.monotonic() < until, watched.instances
        time.sleep(1)
    cluster.type("python cluster/aws.py --delete")
    time.sleep(1)
    assert [group["GroupName"] for group in watched.said["groups"]] == ["default"]
