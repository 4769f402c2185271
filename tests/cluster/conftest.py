"""Hosts, built once a file: see `hosts.py` for what they are made of."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.clusters import Cluster, three_hosts
from tests.cluster.hosts import missing


@pytest.fixture(scope="session")
def may_build_hosts(request: pytest.FixtureRequest) -> None:
    if not request.config.getoption("--cluster"):
        pytest.skip("builds hosts: run with --cluster")
    if lacking := missing():
        pytest.skip(lacking)


@pytest.fixture(scope="module")
def cluster(
    may_build_hosts: None, generated_data: Path, tiny_encoder: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    """Three hosts and a laptop, before `ray up`; data and encoder lie where the page has them."""
    with three_hosts(tmp_path_factory.mktemp("hosts")) as made:
        made.provide("squad2", generated_data)
        made.provide("bert", tiny_encoder)
        yield made
