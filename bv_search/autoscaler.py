"""What the autoscaler of a cluster may still add to its machines.

Ray tells nobody which machines its autoscaler can start: that stands in the file that the autoscaler was
started with, on the cluster's head.
"""

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from bv_search.errors import UserError

Machine = Mapping[str, float]  # {"CPU": 8.0, "GPU": 1.0, …}
HEAD = "node:__internal_head__"  # what Ray says that the head has, and no other machine
SHOWN = ("CPU", "GPU")


@dataclass(frozen=True, kw_only=True)
class Growth:
    """What a cluster may still get beside the machines that are there."""

    to_come: tuple[Machine, ...] = ()  # each as often as there may be more of it
    is_elastic: bool = False  # machines come and go, even if all are there now


def find_growth(there: Sequence[Machine]) -> Growth:
    """Of the cluster that RAY_ADDRESS names. Where nothing can ever work, that is one clear line."""
    growth = plan_growth(_read_config() if os.environ.get("RAY_ADDRESS") else {}, there)
    if not any(machine.get("CPU") for machine in [*there, *growth.to_come]):
        raise UserError(
            "the Ray cluster has no machine to work on",
            expected="one with CPUs, or an autoscaler that may add one",
            found=describe(there),
            do="begin once its machines are there: ray status lists them",
        )
    return growth


def waiting(asked: str, needs: Machine, there: Sequence[Machine], to_come: Sequence[Machine]) -> str | None:
    """A sentence for whoever sees nothing happen: all that are asked for are still to come."""
    fits = any(all(machine.get(key, 0) >= need for key, need in needs.items()) for machine in there)
    if fits or not to_come:
        return None
    each = " and ".join(_amounts(needs))
    return (
        f"asking for {asked} of {each}; the cluster has {describe(there)} and may add {describe(to_come)}: "
        "waiting for the first"
    )


def _read_config() -> dict[str, Any]:
    import ray

    address = ray.get_runtime_context().gcs_address
    here = ray.get_runtime_context().get_node_id()
    if any(node["NodeID"] == here and HEAD in node["Resources"] for node in ray.nodes()):
        return read_config(address)
    found: dict[str, Any] = ray.get(
        ray.remote(num_cpus=0, resources={HEAD: 0.001})(read_config).remote(address)
    )
    return found


def read_config(address: str) -> dict[str, Any]:
    """The file of the autoscaler of the cluster at this address; empty where it has none that can be read."""
    import psutil  # which Ray brings along

    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or []
        named = [word.partition("=")[2] for word in words if word.startswith("--autoscaling-config=")]
        if named and f"--gcs-address={address}" in words:
            with suppress(OSError, yaml.YAMLError):
                config = yaml.safe_load(Path(named[0]).expanduser().read_text(encoding="utf-8"))
                return config if isinstance(config, dict) else {}
    return {}


def plan_growth(config: Mapping[str, Any], there: Sequence[Machine]) -> Growth:
    """A type whose resources the file does not say, as of one's own machines, nobody can plan with."""
    workers = [machine for machine in there if HEAD not in machine]
    to_come: list[Machine] = []
    is_elastic = False
    for name, kind in (config.get("available_node_types") or {}).items():
        machine = {key: float(value) for key, value in (kind.get("resources") or {}).items()}
        usual = 0 if name == config.get("head_node_type") else config.get("max_workers", 0)
        most = int(kind.get("max_workers", usual))
        if any(machine.get(key) for key in SHOWN):
            room = int(config.get("max_workers", 0)) - len(workers) - len(to_come)
            more = min(most - sum(_is_alike(machine, each) for each in workers), room)
            to_come += [machine] * more
            is_elastic |= kind.get("min_workers", 0) < most
    return Growth(to_come=tuple(to_come), is_elastic=is_elastic)


def _is_alike(one: Machine, other: Machine) -> bool:
    return all(one.get(key, 0) == other.get(key, 0) for key in SHOWN)


def describe(machines: Sequence[Machine]) -> str:
    """2 × 8 CPU and 1 GPU, 1 × 0 CPU."""
    kinds = Counter(" and ".join(_amounts(machine)) or "0 CPU" for machine in machines)
    return ", ".join(f"{count} × {kind}" for kind, count in kinds.items()) or "none"


def _amounts(machine: Machine) -> Iterator[str]:
    return (f"{machine[key]:g} {key}" for key in SHOWN if machine.get(key))
