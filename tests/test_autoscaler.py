"""What the autoscaler of a cluster may still add, as its file says."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bv_search.autoscaler import HEAD, Growth, describe, find_growth, plan_growth, read_config, waiting
from bv_search.errors import UserError

AWS_HEAD, BUSY_HEAD = {"memory": 9.0, HEAD: 1.0}, {"CPU": 4.0, HEAD: 1.0}
GPU, CPU = {"CPU": 16.0, "GPU": 1.0}, {"CPU": 8.0}


def file_of(**changes: Any) -> dict[str, Any]:
    kinds = {
        "head": {"resources": {"CPU": 0}},
        "gpu": {"resources": {"CPU": 16, "GPU": 1, "memory": 5, "accelerator_type:L4": 1}, "max_workers": 4},
    }
    return {"max_workers": 4, "available_node_types": kinds, "head_node_type": "head", **changes}


@pytest.mark.parametrize(
    ("there", "changes", "expected"),
    [
        ([AWS_HEAD], {}, [16.0] * 4),
        ([AWS_HEAD, GPU], {}, [16.0] * 3),
        ([AWS_HEAD, *[GPU] * 4], {}, []),
        ([AWS_HEAD], {"max_workers": 2}, [16.0] * 2),
        ([AWS_HEAD, CPU], {}, [16.0] * 3),  # of some other type
        ([AWS_HEAD], {"available_node_types": {"head": {"resources": {"CPU": 2}}}}, []),
        (
            [BUSY_HEAD],
            {"available_node_types": {"own": {"resources": {}, "max_workers": 2}}},
            [],
        ),  # who knows?
    ],
)
def test_machines_thatmay_come(
    there: list[dict[str, float]], changes: dict[str, Any], expected: list[float]
) -> None:
    assert [machine["CPU"] for machine in plan_growth(file_of(**changes), there).to_come] == expected


def test_without_an_autoscaler_none_come() -> None:
    assert plan_growth({}, [CPU]) == Growth()


def test_a_cluster_is_elastic_when_all_are_there() -> None:
    assert plan_growth(file_of(), [AWS_HEAD, *[GPU] * 4]).is_elastic
    always = {"own": {"resources": {"CPU": 8}, "min_workers": 2, "max_workers": 2}}
    assert not plan_growth(file_of(available_node_types=always), [AWS_HEAD]).is_elastic


@pytest.mark.parametrize(
    ("text", "expected"),
    [("max_workers: 3", {"max_workers": 3}), ("[1, 2]", {}), ("{", {}), (None, {})],
)
def test_the_file_of_an_autoscaler_is_the_one_that_it_was_started_with(
    text: str | None, expected: dict[str, Any], tmp_path: Path
) -> None:
    """Of this cluster: others may have theirs on the same machine."""
    file = tmp_path / "cluster.yaml"
    if text is not None:
        file.write_text(text)
    words = ["--gcs-address=127.0.0.1:1", f"--autoscaling-config={file}"]
    monitor = subprocess.Popen([sys.executable, "-c", "input()", *words], stdin=subprocess.PIPE)
    try:
        assert read_config("127.0.0.1:1") == expected
        assert read_config("127.0.0.1:2") == {}
    finally:
        monitor.communicate(b"\n", timeout=60)


def test_where_nothing_can_ever_run_is_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    assert find_growth([AWS_HEAD, CPU]) == Growth()
    with pytest.raises(UserError, match=r"no machine to work on; .* found 1 × 0 CPU"):
        find_growth([AWS_HEAD])


def test_who_waits_is_told_what_for() -> None:
    said = waiting("4 scan worker(s)", {"CPU": 16.0, "GPU": 1.0}, [AWS_HEAD, CPU], [GPU] * 4)
    assert said == (
        "asking for 4 scan worker(s) of 16 CPU and 1 GPU; the cluster has 1 × 0 CPU, 1 × 8 CPU and may add "
        "4 × 16 CPU and 1 GPU: waiting for the first"
    )
    assert waiting("4 scan worker(s)", {"CPU": 16.0, "GPU": 1.0}, [AWS_HEAD, GPU], [GPU] * 3) is None


def test_machines_are_counted_by_what_they_have() -> None:
    assert describe([]) == "none"
    assert describe([GPU, CPU, GPU]) == "2 × 16 CPU and 1 GPU, 1 × 8 CPU"
