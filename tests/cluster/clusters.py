"""A head, two workers, a laptop and an S3 server, and `cluster/cpu.yaml` for them."""

import re
import shutil
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import CompletedProcess, Popen
from typing import Any

import yaml

from tests.cluster.hosts import REPOSITORY, SWITCH, Host, Network, network
from tests.cluster.page import Line
from tests.cluster.wheels import fetch_missing

CPU = REPOSITORY / "cluster" / "cpu.yaml"
HEAD, WORKERS, LAPTOP = "head", ("one", "two"), "laptop"
LAPTOP_ADDRESS = "192.168.1.2"
S3_PORT = 5000
BUCKET = "my-bucket"
SETTINGS = {
    "AWS_ENDPOINT_URL": f"http://{SWITCH}:{S3_PORT}",
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_DEFAULT_REGION": "us-east-1",
    "HF_HUB_OFFLINE": "1",
    "PIP_FIND_LINKS": "/shared/wheels",
    "PIP_NO_INDEX": "1",
    "PIP_NO_BUILD_ISOLATION": "0",  # which says that there is none
    "PIP_ROOT_USER_ACTION": "ignore",
    "RAY_USAGE_STATS_ENABLED": "0",
    "TOKENIZERS_PARALLELISM": "false",
    "OMP_NUM_THREADS": "1",
}


def without_docker(file: Path) -> dict[str, Any]:
    """A cluster file as it is, but for the containers, which these hosts cannot have."""
    config: dict[str, Any] = yaml.safe_load(file.read_text(encoding="utf-8"))
    del config["docker"]
    return config


@dataclass(kw_only=True)
class Cluster:
    network: Network
    exports: list[str] = field(default_factory=lambda: [f"export PYTHONPATH={REPOSITORY}"])
    beside: list[Popen[bytes]] = field(default_factory=list)

    @property
    def head(self) -> Host:
        return self.network[HEAD]

    @property
    def workers(self) -> list[Host]:
        return [self.network[name] for name in WORKERS]

    @property
    def hosts(self) -> list[Host]:
        return [self.head, *self.workers]

    @property
    def laptop(self) -> Host:
        return self.network[LAPTOP]

    @property
    def shared(self) -> Path:
        """What all of them see as /shared."""
        return self.network.shared

    def provide(self, name: str, folder: Path) -> None:
        shutil.copytree(folder, self.shared / name)

    def type(self, line: Line | str, *, check: bool = True) -> CompletedProcess[str]:
        """What somebody types on the laptop, in the project's folder; it remembers what was exported."""
        words = line if isinstance(line, str) else line.command
        command = "; ".join([*self.exports, words])
        if words.startswith("export "):
            self.exports.append(words)
        if isinstance(line, Line) and line.beside:
            log = self.network.folder / "beside.log"
            self.beside.append(self.laptop.start(command, log, folder=str(REPOSITORY)))
            return CompletedProcess(command, 0, "", "")
        return self.laptop.run(command, folder=str(REPOSITORY), check=check)

    def type_until(self, line: Line | str, holds: Callable[[str], bool], *, seconds: float = 300) -> str:
        """The same again and again."""
        until = time.monotonic() + seconds
        while True:
            done = self.type(line, check=False)
            if done.returncode == 0 and holds(done.stdout):
                return done.stdout
            assert time.monotonic() < until, f"{line}: {done.stdout[-3000:]}\n{done.stderr[-3000:]}"
            time.sleep(1)

    def of_ray(self) -> dict[str, list[str]]:
        return {host.name: found for host in self.hosts if (found := list(host.of_ray().values()))}


@contextmanager
def watching(hosts: Callable[[], Iterable[Host]]) -> Iterator[Mapping[tuple[str, str], int]]:
    """How many of Ray's processes of one kind there were at once, at most, by host and kind."""
    most: dict[tuple[str, str], int] = defaultdict(int)
    over = threading.Event()

    def look() -> None:
        while not over.wait(0.5):
            for host in hosts():
                kinds = Counter(re.split(r"[.(]", title)[0] for title in host.of_ray().values())
                for kind, count in kinds.items():
                    most[host.name, kind] = max(most[host.name, kind], count)

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield most
    finally:
        over.set()
        thread.join()


def with_cpus(cpus: int) -> Callable[[str], bool]:
    """Of what `ray status` says."""
    return lambda text: f"/{cpus}.0 CPU" in text


@contextmanager
def three_hosts(folder: Path) -> Iterator[Cluster]:
    """Ready for `ray up`."""
    with network(folder, SETTINGS) as made:
        cluster = Cluster(network=made)
        fetch_missing(cluster.shared / "wheels")
        start_object_store(cluster)
        add_hosts(cluster)
        add_laptop(cluster, CPU, without_docker(CPU))
        yield cluster


def add_hosts(cluster: Cluster) -> None:
    """With the addresses that stand in the file."""
    provider = yaml.safe_load(CPU.read_text(encoding="utf-8"))["provider"]
    cluster.network.add(HEAD, provider["head_ip"])
    for name, address in zip(WORKERS, provider["worker_ips"], strict=True):
        cluster.network.add(name, address)


def add_laptop(cluster: Cluster, file: Path, config: Mapping[str, Any]) -> None:
    """With another cluster file: the repository lies below the laptop's own disk, unchanged."""
    common = cluster.shared / ".hosts"
    (common / file.name).write_text(yaml.safe_dump(config))
    laptop = cluster.network.add(LAPTOP, LAPTOP_ADDRESS, sshd=False)
    key = config["auth"].get("ssh_private_key", "/home/ray/.ssh/none")
    laptop.run(f"mkdir -p .ssh && install -m 600 /shared/.hosts/id {key}")
    laptop.run(f"cp /shared/.hosts/{file.name} {file}")


def start_object_store(cluster: Cluster) -> None:
    """Beside the bridge; `busy` in the shared folder makes it refuse."""
    switch = cluster.network["switch"]
    script = Path(__file__).with_name("object_store.py")
    switch.start(
        f"MOTO_IAM_LOAD_MANAGED_POLICIES=true python {script} {SWITCH} {S3_PORT} /shared/busy",
        cluster.network.folder / "s3.log",
    )
    make = (
        "import boto3, botocore.config as c; "
        "boto3.client('s3', config=c.Config(retries={'total_max_attempts': 30, 'mode': 'standard'}))"
        f".create_bucket(Bucket='{BUCKET}')"
    )
    switch.run(f'python -c "{make}"')
