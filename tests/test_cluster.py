"""The cluster files, by Ray's own schema; no machine is started."""

import json
import shlex
import socket
import subprocess
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import yaml

from bv_search import ping as ping_module
from bv_search.__main__ import find_command
from bv_search.cluster import SETTINGS, ray_session
from bv_search.command import CALM_THREADS, build_parser
from bv_search.errors import UserError

CLUSTER = Path(__file__).resolve().parents[1] / "cluster"
FILES = sorted(CLUSTER.glob("*.yaml"))
KUBERAY = Path(__file__).with_name("cluster") / "kuberay-1.7.0.json"
HEAD, WORKER = "bv-search-head", "bv-search-worker"


@pytest.fixture(params=FILES, ids=lambda file: file.name)
def config(request: pytest.FixtureRequest) -> dict[str, Any]:
    read = yaml.safe_load(request.param.read_text(encoding="utf-8"))
    assert isinstance(read, dict)
    return read


def test_there_are_files_for_clouds_and_for_own_machines() -> None:
    assert [file.name for file in FILES] == ["cpu.yaml", "gcp.yaml", "gpu.yaml"]


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


def test_images_are_of_the_ray_that_is_tested(config: dict[str, Any]) -> None:
    images = [value for key, value in config["docker"].items() if key.endswith("image")]
    assert images
    for image in images:
        name, tag = image.split(":")
        assert name == "rayproject/ray"
        assert tag.startswith(f"{version('ray')}-py311-")


@pytest.mark.parametrize("kind", ["RayCluster", "RayJob"])
def test_kuberay_takes_it(kind: str) -> None:
    """By the parts of its published schemas that are used: what stands there and not here is an error."""
    import jsonschema

    schema = json.loads(KUBERAY.read_text(encoding="utf-8"))[kind]
    manifest = yaml.safe_load((CLUSTER / "kubernetes" / f"{kind.lower()}.yaml").read_text(encoding="utf-8"))
    jsonschema.validate(manifest, schema)
    assert (manifest["apiVersion"], manifest["kind"]) == ("ray.io/v1", kind)
    spec = manifest["spec"].get("rayClusterSpec", manifest["spec"])
    assert spec["authOptions"] == {"mode": "token"}
    assert spec["rayVersion"] == version("ray")
    if "entrypoint" in manifest["spec"]:
        words = shlex.split(manifest["spec"]["entrypoint"])
        build_parser(find_command(words[1])).parse_args(words[2:])
    broken = json.loads(json.dumps(manifest).replace('"mountPath"', '"mountpath"'))
    with pytest.raises(jsonschema.ValidationError, match="mountpath"):
        jsonschema.validate(broken, schema)


def test_kubernetes_gets_an_image_of_the_ray_that_is_tested() -> None:
    text = (CLUSTER / "kubernetes" / "Dockerfile").read_text(encoding="utf-8")
    assert f"FROM rayproject/ray:{version('ray')}-py311-gpu\n" in text


def test_slurm_takes_it() -> None:
    subprocess.run(["bash", "-n", str(CLUSTER / "slurm.sbatch")], check=True)
    done = subprocess.run(
        ["bash", str(CLUSTER / "slurm.sbatch")], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), "no command: one line says so"


def test_nobody_else_may_come_in(config: dict[str, Any]) -> None:
    """No port for everybody, and no role that can do more than its machine's work."""
    if config["provider"]["type"] != "aws":
        return
    assert config["provider"]["security_group"] == {"GroupName": "bv-search"}
    roles = {
        name: each["node_config"]["IamInstanceProfile"]["Name"]
        for name, each in config["available_node_types"].items()
    }
    assert roles == {"head": HEAD, "gpu": WORKER, "gpu-spot": WORKER}


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
    assert "cluster" in config["setup_commands"][0], (
        "jobs are taken by a part of Ray that not all images have"
    )
    for commands in (config["head_start_ray_commands"], config["worker_start_ray_commands"]):
        (start,) = (command for command in commands if "ray start" in command)
        said = dict(word.split("=") for word in start.partition(";")[0].split()[1:])
        assert said.pop("RAY_AUTH_MODE") == "token"
        if config["provider"]["type"] == "local" and "--head" in start:
            assert said.pop("RAY_enable_autoscaler_v2") == "0"
        assert said == {name: SETTINGS[name] for name in (*CALM_THREADS, "RAY_memory_monitor_refresh_ms")}
        assert start.partition("; ")[2].startswith("ray start")
