"""Several workers that train one encoder together, by Ray Train: each reads its part of every step.

The first one, and it alone, scores, writes and tells. One that dies is replaced with all the others, and they
go on from what was kept. torch and transformers, seconds of imports, are for the workers alone.
"""

import os
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from tempfile import TemporaryDirectory
from typing import Any

import ray
from ray.exceptions import RayActorError, RayError
from ray.util.placement_group import PlacementGroup, get_current_placement_group, remove_placement_group
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from bv_search.autoscaler import find_growth, waiting
from bv_search.cluster import machines, ray_session, result_of
from bv_search.errors import BvError, UserError
from bv_search.finetune.config import FinetuneConfig
from bv_search.finetune.event import Event, Progressed
from bv_search.tasks.task import Task

ATTEMPTS = 3  # groups that die one after another
LISTEN_SECONDS = 0.2
END_SECONDS = 10.0  # for its last words
PATIENCE_SECONDS = 7 * 24 * 3600  # of a worker for the others: the first one may score for hours
BACKENDS = {False: "gloo", True: "cpu:gloo,cuda:nccl"}  # by whether each has a GPU
TRAIN_SETTINGS = {
    "RAY_TRAIN_V2_ENABLED": "1",
    "RAY_TRAIN_HEALTH_CHECK_INTERVAL_S": "0.5",  # it sees by this alone that all is done
    "RAY_TRAIN_METRICS_ENABLED": "0",
    "RAY_CHDIR_TO_TRIAL_DIR": "0",
}
AGAIN = "run the same command again: it goes on from what is kept"
LOST = "a worker was lost: all begin again from what is kept"


@dataclass(frozen=True, kw_only=True)
class GroupPlan:
    """What each worker takes of the cluster."""

    workers: int
    cpus: float
    gpus: int

    @property
    def threads(self) -> int:
        return max(1, int(self.cpus))

    @property
    def needs(self) -> dict[str, float]:
        return {"CPU": self.cpus} | ({"GPU": self.gpus} if self.gpus else {})


def plan_group(nodes: Sequence[Mapping[str, float]], workers: int, device: str) -> GroupPlan:
    """A GPU for each where there are any; else as many cores as all of them can have."""
    gpus = sum(int(node.get("GPU", 0)) for node in nodes)
    if not gpus or device == "cpu":
        return GroupPlan(workers=workers, cpus=_share_of_cores(nodes, workers), gpus=0)
    if workers > gpus:
        raise UserError("--workers is too large", expected=f"at most {gpus}, a GPU for each", found=workers)
    return GroupPlan(workers=workers, cpus=1, gpus=1)


def _share_of_cores(nodes: Sequence[Mapping[str, float]], workers: int) -> float:
    """The most that every worker can have on some machine."""
    cores = [int(node.get("CPU", 0)) for node in nodes]
    shares = {own / count for own in cores for count in range(1, workers + 1) if own}
    return max(share for share in shares if sum(int(own / share + 1e-9) for own in cores) >= workers)


def train_together(config: FinetuneConfig, task: Task) -> Iterator[Event]:
    """The events of fine-tuning, as the first worker tells them."""
    with ray_session(), TemporaryDirectory() as storage:
        there = machines()
        to_come = find_growth(there).to_come
        plan = plan_group([*there, *to_come], config.workers, config.device)
        if (sentence := waiting(f"{plan.workers} worker(s)", plan.needs, there, to_come)) is not None:
            yield Progressed(text=sentence, stays=True)
        group = ray.remote(TrainingGroup).options(max_concurrency=4, **_beside()).remote(plan, storage)
        yield Progressed(text=f"starting {plan.workers} workers", stays=False)
        try:
            yield from _listen(group, group.fit.remote(config, task, group))
        except RayActorError as error:
            raise BvError("fine-tuning ends: who has its workers died", found=error, do=AGAIN) from error
        finally:
            _end(group)


def _beside() -> dict[str, Any]:
    """Where the driver is, which needs no room for it."""
    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=True)
    return {"num_cpus": 0, "scheduling_strategy": here}


def _end(group: Any) -> None:
    """What it has begun ends with it, but for what Ray Train has reserved."""
    place = None
    with suppress(RayError):
        place = ray.get(group.place.remote(), timeout=END_SECONDS)
    ray.kill(group)
    if place is not None:
        remove_placement_group(place)


def _listen(group: Any, fitting: Any) -> Iterator[Event]:
    """Until all workers have ended. The first error that one of them tells ends them all."""
    ended = False
    while not ended:
        ended = bool(ray.wait([fitting], timeout=LISTEN_SECONDS)[0])
        for news in ray.get(group.take.remote()):
            if isinstance(news, Exception):
                raise news
            yield news
    if (why := result_of(fitting)) is not None:
        raise BvError(
            f"fine-tuning ends: its workers died {ATTEMPTS} times",
            found=why,
            do=AGAIN,
        )


class TrainingGroup:
    """The actor that has the workers, in a process of its own: whatever Ray Train prints stays there."""

    def __init__(self, plan: GroupPlan, storage: str) -> None:
        self._plan, self._storage = plan, storage
        self._news: deque[Event | Exception] = deque()  # that nobody has taken yet; of several threads
        self._begun = 0
        self._place: PlacementGroup | None = None

    def fit(self, config: FinetuneConfig, task: Task, own: Any) -> str | None:
        """Why it failed, or nothing."""
        os.environ.update(TRAIN_SETTINGS)
        from ray.train import FailureConfig, RunConfig, ScalingConfig
        from ray.train.torch import TorchConfig, TorchTrainer
        from ray.train.v2.api.exceptions import TrainingFailedError

        plan = self._plan
        trainer = TorchTrainer(
            _work,
            train_loop_config={"config": config, "task": task, "plan": plan, "group": own},
            torch_config=TorchConfig(backend=BACKENDS[plan.gpus > 0], timeout_s=PATIENCE_SECONDS),
            scaling_config=ScalingConfig(
                num_workers=plan.workers, use_gpu=plan.gpus > 0, resources_per_worker=plan.needs
            ),
            run_config=RunConfig(
                storage_path=self._storage, failure_config=FailureConfig(max_failures=ATTEMPTS - 1)
            ),
        )
        try:
            trainer.fit()
        except TrainingFailedError as error:
            return str(error).strip().splitlines()[-1]
        return None

    def begin(self, place: PlacementGroup) -> None:
        """By the first worker, of what is reserved for all."""
        self._begun += 1
        self._place = place
        if self._begun > 1:
            self.tell(Progressed(text=LOST, stays=True))

    def place(self) -> PlacementGroup | None:
        return self._place

    def tell(self, news: Event | Exception) -> None:
        self._news.append(news)

    def take(self) -> list[Event | Exception]:
        return [self._news.popleft() for _ in range(len(self._news))]


def _work(given: dict[str, Any]) -> None:
    """What each worker does. A failure that another try would not help is told, which ends them all."""
    import torch
    from ray import train

    from bv_search.encoder.share import Share
    from bv_search.finetune.follower import follow
    from bv_search.finetune.trainer import finetune

    group, plan, task = given["group"], given["plan"], given["task"]
    config = _placed(given["config"]) if plan.gpus else given["config"]
    torch.set_num_threads(plan.threads)
    context = train.get_context()
    share = Share(worker=context.get_world_rank(), workers=context.get_world_size())
    try:
        if share.worker > 0:
            follow(config, task, share)
            return
        ray.get(group.begin.remote(get_current_placement_group()))
        for event in finetune(config, task, share=share):
            ray.get(group.tell.remote(event))
    except (BvError, OSError) as error:
        ray.get(group.tell.remote(error))
        time.sleep(PATIENCE_SECONDS)


def _placed(config: FinetuneConfig) -> FinetuneConfig:
    """On the GPU that Ray has given, of several that may be seen."""
    import torch
    from ray.train.torch import get_device

    device = get_device()
    torch.cuda.set_device(device)
    return replace(config, device=str(device))
