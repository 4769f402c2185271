"""What scan workers reserve of a cluster."""

import pytest

from bv_search.errors import UserError
from bv_search.tune.workers import WorkerShare

SMALL, LARGE = {"CPU": 2.0}, {"CPU": 16.0}
ONE_GPU, FOUR_GPUS = {"CPU": 8.0, "GPU": 1.0}, {"CPU": 32.0, "GPU": 4.0}


@pytest.mark.parametrize(
    ("machines", "workers", "expected"),
    [
        ([SMALL], None, (1, 2, 2, 0)),
        ([SMALL], 2, (2, 1, 1, 0)),
        ([SMALL], 3, (3, 0.0156, 1, 0)),
        ([LARGE], 3, (3, 5, 5, 0)),
        ([SMALL, LARGE], None, (1, 16, 16, 0)),
        ([SMALL, FOUR_GPUS], None, (4, 8, 8, 1)),
        ([ONE_GPU, FOUR_GPUS], None, (5, 8, 8, 1)),
        ([FOUR_GPUS], 2, (2, 16, 16, 1)),
    ],
)
def test_a_worker_has_a_gpu_or_the_cores_of_a_machine(
    machines: list[dict[str, float]], workers: int | None, expected: tuple[int, float, int, int]
) -> None:
    share = WorkerShare.of_cluster(machines, workers)

    assert (share.workers, share.cpus, share.threads, share.gpus) == expected


@pytest.mark.parametrize("workers", [None, 1, 2, 3, 4, 5, 9, 33])
@pytest.mark.parametrize(
    "machines",
    [
        [{"CPU": 1.0}],
        [SMALL],
        [SMALL, SMALL],
        [SMALL, LARGE],
        [{"memory": 1.0}, SMALL],
        [ONE_GPU, ONE_GPU],
        [SMALL, FOUR_GPUS],
        [{"CPU": 1.0, "GPU": 4.0}, ONE_GPU],
    ],
)
def test_all_workers_fit_on_any_cluster(machines: list[dict[str, float]], workers: int | None) -> None:
    """Placed on whichever machine has room, in either order: none may wait for what will never be free."""
    gpus = sum(machine.get("GPU", 0) for machine in machines)
    if workers and 0 < gpus < workers:
        with pytest.raises(UserError, match="more --workers than GPUs"):
            WorkerShare.of_cluster(machines, workers)
        return
    share = WorkerShare.of_cluster(machines, workers)

    for order in (machines, machines[::-1]):
        free = [dict(machine) for machine in order]
        for _ in range(share.workers):
            _place(free, {"CPU": share.cpus, "GPU": share.gpus})


HEAD = {"memory": 1.0}  # without CPUs


@pytest.mark.parametrize(
    ("machines", "to_come", "workers", "expected"),
    [
        ([HEAD], [ONE_GPU] * 4, None, (4, 8, 8, 1)),
        ([HEAD], [SMALL] * 2, None, (1, 2, 2, 0)),
        ([HEAD, SMALL], [LARGE] * 2, None, (1, 2, 2, 0)),  # it begins with what is there
        ([HEAD, LARGE], [LARGE] * 3, 4, (4, 16, 16, 0)),  # a machine for each
        ([HEAD], [SMALL] * 2, 9, (9, 0.0156, 1, 0)),  # never on the head
    ],
)
def test_where_a_cluster_grows_workers_are_planned_for_the_machines_to_come(
    machines: list[dict[str, float]],
    to_come: list[dict[str, float]],
    workers: int | None,
    expected: tuple[int, float, int, int],
) -> None:
    share = WorkerShare.of_cluster(machines, workers, to_come)

    assert (share.workers, share.cpus, share.threads, share.gpus) == expected


def test_workers_do_not_share_a_gpu() -> None:
    with pytest.raises(UserError, match=r"more --workers than GPUs; expected at most 4, .* found 5"):
        WorkerShare.of_cluster([SMALL, FOUR_GPUS], 5)


def _place(free: list[dict[str, float]], needs: dict[str, float]) -> None:
    machine = next(m for m in free if all(m.get(name, 0.0) >= need for name, need in needs.items()))
    for name, need in needs.items():
        machine[name] = machine.get(name, 0.0) - need


def test_a_crowd_that_no_machine_holds_is_refused() -> None:
    assert WorkerShare.of_cluster([{"CPU": 2.0}], 128).workers == 128
    with pytest.raises(UserError, match="expected at most 128, 64 for each core; found 100,000"):
        WorkerShare.of_cluster([{"CPU": 2.0}], 100_000)
