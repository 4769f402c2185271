"""EC2 as Ray sees it: moto answers, and each machine that it starts becomes a host."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.cluster.hosts import Host, Network, run

FILE = ".hosts/instances.json"


@dataclass(kw_only=True)
class Machines:
    """`hosts` by the number of the instance."""

    network: Network
    key: str  # where Ray keeps the key that it made, on the laptop
    hosts: dict[str, Host] = field(default_factory=dict)
    ended: set[str] = field(default_factory=set)
    trouble: list[Exception] = field(default_factory=list)

    @property
    def said(self) -> dict[str, Any]:
        place = self.network.shared / FILE
        found: dict[str, Any] = json.loads(place.read_text()) if place.exists() else {"instances": []}
        return found

    @property
    def instances(self) -> list[dict[str, Any]]:
        return list(self.said["instances"])

    def tags(self, instance: dict[str, Any]) -> dict[str, str]:
        return {tag["Key"]: tag["Value"] for tag in instance.get("Tags", [])}

    def keep_up(self) -> None:
        """Start what has been launched, end what has been terminated."""
        for instance in self.instances:
            number, state = instance["InstanceId"], instance["State"]["Name"]
            if state == "running" and number not in self.hosts:
                self.hosts[number] = self._boot(instance)
            if state in ("shutting-down", "terminated") and number in self.hosts and number not in self.ended:
                self.ended.add(number)
                self.hosts[number].end()

    def _boot(self, instance: dict[str, Any]) -> Host:
        """With both of its addresses, and the key pair that it was launched with."""
        private, public = instance["PrivateIpAddress"], instance["PublicIpAddress"]
        name = f"ec2-{len(self.hosts)}"
        host = self.network.add(name, private)
        switch = ["nsenter", "--net", "--target", str(self.network["switch"].pid), "ip", "route", "add"]
        for address in (private, public):
            run(*switch, f"{address}/32", "dev", "bridge")
        there = ["nsenter", "--net", "--target", str(host.pid), "ip"]
        run(*there, "address", "add", f"{public}/32", "dev", "eth0")
        made = self.network["laptop"].run(f"ssh-keygen -y -f {self.key}").stdout
        (self.network.shared / ".hosts/pair").write_text(made)
        host.run("cat /shared/.hosts/pair >> /etc/ssh/authorized_keys")
        return host


@contextmanager
def machines(network: Network, region: str, key: str) -> Iterator[Machines]:
    made = Machines(network=network, key=key)
    switch = network["switch"]
    script = Path(__file__).with_name("instances.py")
    switch.start(f"python {script} {region} /shared/{FILE}", network.folder / "instances.log")
    over = threading.Event()

    def look() -> None:
        while not over.wait(0.3):
            try:
                made.keep_up()
            except Exception as error:  # told by the test, which would else wait for a host
                made.trouble.append(error)
                return

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield made
    finally:
        over.set()
        thread.join()
