"""Where fine-tuning runs: in this process, on a machine of the cluster that RAY_ADDRESS names, or on several.

One worker has nothing to spread: Ray finds it the machine with a GPU. Several are a group.
"""

import os
from collections.abc import Iterator
from dataclasses import replace

import ray

from bv_search.cluster import machines, ray_session, result_of
from bv_search.files import absolute_if_there
from bv_search.finetune.config import FinetuneConfig
from bv_search.finetune.event import Event
from bv_search.finetune.group import train_together
from bv_search.finetune.ride import Ride
from bv_search.finetune.trainer import finetune
from bv_search.tasks.task import Task


def launch(config: FinetuneConfig, task: Task, ride: Ride | None = None) -> Iterator[Event]:
    """The events of fine-tuning, from wherever it runs. Heads that ride along do so in its process."""
    if config.workers > 1:
        return train_together(_absolute(config), task)
    if not os.environ.get("RAY_ADDRESS"):
        return finetune(config, task, ride)
    return _on_cluster(_absolute(config), task, ride)


def _absolute(config: FinetuneConfig) -> FinetuneConfig:
    """A worker elsewhere stands in another folder, on the same shared disk."""
    return replace(
        config,
        out=config.out.resolve(),
        encoder=absolute_if_there(config.encoder),
        data=None if config.data is None else absolute_if_there(config.data),
    )


def _needs() -> dict[str, float]:
    """One GPU where there is any, else every core of the largest machine: Ray gives as many threads."""
    found = machines()
    if any(machine.get("GPU", 0) >= 1 for machine in found):
        return {"num_gpus": 1, "num_cpus": 1}
    return {"num_gpus": 0, "num_cpus": max(machine.get("CPU", 1) for machine in found)}


def _on_cluster(config: FinetuneConfig, task: Task, ride: Ride | None) -> Iterator[Event]:
    with ray_session():
        # a second try would tell everything again; asking again keeps the finished stages
        work = ray.remote(max_retries=0, **_needs())(finetune)
        for event in work.options(num_returns="streaming").remote(config, task, ride):
            yield result_of(event)
