"""The cluster files, by Ray's own schema; no machine is started."""

import socket
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import yaml

from bv_search import ping as ping_module
from bv_search.cluster import SETTINGS, ray_session
from bv_search.command import CALM_THREADS
from bv_search.errors import UserError

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


def test_there_are_machines_to_work_on_before_a_command_asks(config: dict[str, Any]) -> None:
    from ray.autoscaler._private.util import prepare_config

    prepared = prepare_config(config)
    types = dict(prepared["available_node_types"])
    head = types.pop(prepared["head_node_type"]) if len(types) > 1 else {}
    assert head.get("resources", {}).get("CPU", 0) == 0, "no work is placed on the head"
    assert sum(each["min_workers"] for each in types.values()) >= 1


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_a_job_goes_through_the_forwarded_port_with_the_token_and_its_run_is_kept(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    said = [line.removeprefix("#").strip() for line in text.splitlines() if line.startswith("#   ")]
    commands = [line.split("  ")[0] for line in said]
    wanted = [
        "export RAY_AUTH_MODE=token",
        f"ray up cluster/{file.name}",
        f"ray dashboard cluster/{file.name}",
    ]
    assert [line for line in commands if line in wanted] == wanted
    (job,) = (line for line in commands if "bv-search tune" in line)
    assert job.startswith("ray job submit -- ")
    assert "--runs /" in job, "or the run is lost with the job's own folder"
    if file.name == "gpu.yaml":
        assert f"    {job}\n" in (CLUSTER.parent / "README.md").read_text(encoding="utf-8")


def test_images_are_of_the_ray_that_is_tested(config: dict[str, Any]) -> None:
    images = [value for key, value in config["docker"].items() if key.endswith("image")]
    assert images
    for image in images:
        name, tag = image.split(":")
        assert name == "rayproject/ray"
        assert tag.startswith(f"{version('ray')}-py311-")


@pytest.mark.parametrize("address", ["127.0.0.1:1", "nowhere", "http://127.0.0.1:8265", "127.0.0.1:99999"])
def test_a_cluster_that_is_not_there_is_one_clear_line(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", address)
    with (
        pytest.raises(UserError, match=f"RAY_ADDRESS={address}: the Ray cluster cannot be joined") as caught,
        ray_session(),
    ):
        pass
    assert "\n" not in str(caught.value)


def test_who_accepts_and_never_answers_is_waited_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ping_module, "SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        for place in (address, f"ray://{address}"):
            monkeypatch.setenv("RAY_ADDRESS", place)
            with pytest.raises(UserError, match=r"found no answer within 0\.2 s"), ray_session():
                pass


def test_auto_with_no_cluster_is_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    from ray._private import services

    monkeypatch.setattr(services, "find_bootstrap_address", lambda folder: None)
    monkeypatch.setattr(services, "find_gcs_addresses", cache(set))
    monkeypatch.setenv("RAY_ADDRESS", "auto")
    with pytest.raises(UserError, match="found no cluster runs on this machine"), ray_session():
        pass


def test_every_machine_gets_the_project_the_token_and_the_settings_of_a_session_here(
    config: dict[str, Any],
) -> None:
    assert config["file_mounts"]["/home/ray/bv_search"] == "."
    assert "constraints.txt" in config["setup_commands"][0]
    for commands in (config["head_start_ray_commands"], config["worker_start_ray_commands"]):
        (start,) = (command for command in commands if "ray start" in command)
        said = dict(word.split("=") for word in start.partition(";")[0].split()[1:])
        assert said.pop("RAY_AUTH_MODE") == "token"
        assert said == {name: SETTINGS[name] for name in (*CALM_THREADS, "RAY_memory_monitor_refresh_ms")}
        assert start.partition("; ")[2].startswith("ray start")
