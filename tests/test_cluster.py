"""The cluster files, by Ray's own schema; no machine is started."""

from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import yaml

CLUSTER = Path(__file__).resolve().parents[1] / "cluster"
FILES = sorted(CLUSTER.glob("*.yaml"))


@pytest.fixture(params=FILES, ids=lambda file: file.name)
def config(request: pytest.FixtureRequest) -> dict[str, Any]:
    read = yaml.safe_load(request.param.read_text(encoding="utf-8"))
    assert isinstance(read, dict)
    return read


def test_there_is_a_cluster_with_gpus_and_one_without() -> None:
    assert [file.name for file in FILES] == ["cpu.yaml", "gpu.yaml"]


def test_ray_takes_it(config: dict[str, Any]) -> None:
    from ray.autoscaler._private.util import prepare_config, validate_config

    prepared = prepare_config(config)
    validate_config(prepared)
    assert prepared["head_node_type"] in prepared["available_node_types"]


def test_images_are_of_the_ray_that_is_tested(config: dict[str, Any]) -> None:
    images = [value for key, value in config["docker"].items() if key.endswith("image")]
    assert images
    for image in images:
        name, tag = image.split(":")
        assert name == "rayproject/ray"
        assert tag.startswith(f"{version('ray')}-py311-")


def test_every_machine_gets_the_project_the_token_and_the_kernels_way_out_of_want_of_memory(
    config: dict[str, Any],
) -> None:
    assert config["file_mounts"]["/home/ray/bv_search"] == "."
    assert "constraints.txt" in config["setup_commands"][0]
    for commands in (config["head_start_ray_commands"], config["worker_start_ray_commands"]):
        (start,) = (command for command in commands if "ray start" in command)
        assert start.startswith("export RAY_AUTH_MODE=token RAY_memory_monitor_refresh_ms=0; ray start")
