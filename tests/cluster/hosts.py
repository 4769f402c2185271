"""Hosts of one machine: namespaces of their own, a bridge between them, and sshd on each.

A host has its own network, processes, name, /tmp, /home, /dev/shm, and a disk of its own over this machine's
root, which it cannot change. Not separated are the kernel, its clock, cores, memory and page cache.
"""

import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
TOOLS = ("ip", "nsenter", "pivot_root", "rsync", "setpriv", "ssh", "ssh-keygen", "sshd", "unshare")
START_SECONDS = 20.0
DISK = "3g"
SWITCH = "192.168.1.1"
MORTAL = ("setpriv", "--pdeathsig", "KILL")  # whoever starts it: with the tests their hosts end
SSHD = """\
Port 22
HostKey /etc/ssh/host_key
AuthorizedKeysFile /etc/ssh/authorized_keys
StrictModes no
UsePAM no
PasswordAuthentication no
PermitRootLogin yes
Subsystem sftp internal-sftp
"""


def missing() -> str:
    """What hosts need and this machine lacks, or nothing."""
    if os.geteuid() != 0:
        return "hosts of namespaces need root"
    if lacking := [tool for tool in TOOLS if find_tool(tool) is None]:
        return f"no {', '.join(lacking)}: install iproute2, openssh-server, rsync and util-linux"
    if "overlay" not in Path("/proc/filesystems").read_text():
        return "this kernel has no overlay file system"
    places = (Path(sys.prefix), Path(sys.base_prefix), REPOSITORY)
    if elsewhere := [place for place in places if place.stat().st_dev != Path("/").stat().st_dev]:
        return f"{elsewhere[0]} lies on another file system than /, which is all that hosts see"
    return ""


def find_tool(name: str) -> str | None:
    return shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")


def run(*command: str, **kwargs: object) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(command, capture_output=True, text=True, check=False, **kwargs)  # type: ignore[call-overload]
    assert done.returncode == 0, f"{shlex.join(command)}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done  # type: ignore[no-any-return]


@dataclass(kw_only=True)
class Host:
    name: str
    address: str
    keeper: subprocess.Popen[bytes]  # its first process's parent, outside

    @property
    def pid(self) -> int:
        """Of its first process, as this machine counts."""
        return int(Path(f"/proc/{self.keeper.pid}/task/{self.keeper.pid}/children").read_text().split()[0])

    def enter(self, command: str, folder: str = "/home/ray") -> list[str]:
        """The words that run a line of bash there, as somebody who logged in."""
        inside = f"cd {shlex.quote(folder)} && {command}"
        clean = [
            "env",
            "-i",
            "HOME=/home/ray",
            "TERM=dumb",
            "LANG=C.UTF-8",
            "PATH=/usr/sbin:/usr/bin:/sbin:/bin",
        ]
        return ["nsenter", "--all", "--target", str(self.pid), *clean, "bash", "--login", "-c", inside]

    def run(
        self, command: str, *, folder: str = "/home/ray", timeout: float = 600, check: bool = True
    ) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            self.enter(command, folder),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )
        if check:
            said = f"{done.stdout[-6000:]}\n{done.stderr[-6000:]}"
            assert done.returncode == 0, f"{self.name}: {command}: {done.returncode}\n{said}"
        return done

    def start(self, command: str, log: Path, *, folder: str = "/home/ray") -> subprocess.Popen[bytes]:
        with log.open("ab") as file:
            return subprocess.Popen(
                self.enter(command, folder), stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT
            )

    def processes(self) -> dict[int, str]:
        """Command lines of all that runs there, by their numbers on this machine."""
        inside = Path(f"/proc/{self.pid}/ns/pid").readlink()
        found = {}
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if (folder / "ns/pid").readlink() == inside:
                    words = (folder / "cmdline").read_bytes().split(b"\0")
                    found[int(folder.name)] = b" ".join(words).decode(errors="replace").strip()
            except OSError:  # it has ended, or is not ours to look at
                continue
        return found

    def of_ray(self) -> dict[int, str]:
        marks = ("ray::", "raylet", "gcs_server", "ray/", "bv-search", "bv_search")
        return {pid: line for pid, line in self.processes().items() if any(mark in line for mark in marks)}

    def kill(self, mark: str) -> list[int]:
        """SIGKILL to each process there whose command line has this in it."""
        chosen = [pid for pid, line in self.processes().items() if mark in line]
        for pid in chosen:
            os.kill(pid, signal.SIGKILL)
        return chosen

    def end(self) -> None:
        """As if its plug were pulled: with its first process the kernel ends all others, and its mounts."""
        if self.keeper.poll() is None:
            os.kill(self.pid, signal.SIGKILL)
        self.keeper.wait()


@dataclass(kw_only=True)
class Network:
    """Hosts by name; `switch` has the bridge between them."""

    folder: Path
    hosts: dict[str, Host] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Host:
        return self.hosts[name]

    @property
    def shared(self) -> Path:
        return self.folder / "shared"

    @property
    def key(self) -> Path:
        return self.folder / "key"

    def add(self, name: str, address: str, *, disk: str = DISK, sshd: bool = True) -> Host:
        place = self.folder / "disks" / name
        place.mkdir(parents=True, exist_ok=True)
        spaces = ["--mount", "--pid", "--net", "--uts", "--ipc", "--fork", "--kill-child"]
        script = str(Path(__file__).with_name("host.sh"))
        sign = self.shared / ".hosts" / f"{name}.up"
        sign.unlink(missing_ok=True)
        with (self.folder / f"{name}.log").open("wb") as log:
            keeper = subprocess.Popen(
                [
                    "setpriv",
                    "--pdeathsig",
                    "KILL",
                    "unshare",
                    *spaces,
                    "bash",
                    script,
                    name,
                    str(place),
                    disk,
                    str(self.shared),
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        host = Host(name=name, address=address, keeper=keeper)
        until = time.monotonic() + START_SECONDS
        while not sign.exists():
            said = (self.folder / f"{name}.log").read_text()
            assert keeper.poll() is None, f"{name} has not come up: {said}"
            assert time.monotonic() < until, f"{name} has not come up in {START_SECONDS:g} s: {said}"
            time.sleep(0.05)
        self.hosts[name] = host
        self._connect(host)
        if sshd:
            host.run("/usr/sbin/sshd -E /tmp/sshd.log")
        return host

    def _connect(self, host: Host) -> None:
        switch = self.hosts["switch"]
        network = ["nsenter", "--net", "--target"]
        if host is switch:
            at = [*network, str(host.pid), "ip"]
            run(*at, "link", "add", "bridge", "type", "bridge")
            run(*at, "address", "add", f"{host.address}/24", "dev", "bridge")
            run(*at, "link", "set", "bridge", "up")
            host.run("echo 1 > /proc/sys/net/ipv4/ip_forward")  # of this network alone
            return
        at = [*network, str(switch.pid), "ip"]
        there = [*network, str(host.pid), "ip"]
        run(*at, "link", "add", host.name, "type", "veth", "peer", "name", "eth0", "netns", str(host.pid))
        run(*at, "link", "set", host.name, "master", "bridge", "up")
        run(*there, "address", "add", f"{host.address}/24", "dev", "eth0")
        run(*there, "link", "set", "eth0", "up")
        # Ray finds its own address by the way that leads outside
        run(*there, "route", "replace", switch.address, "dev", "eth0")
        run(*there, "route", "add", "default", "via", switch.address, "src", host.address)

    def link(self, name: str, state: str) -> None:
        """`down` takes the cable out."""
        run("nsenter", "--net", "--target", str(self["switch"].pid), "ip", "link", "set", name, state)

    def end(self) -> None:
        for host in reversed(self.hosts.values()):
            host.end()
        self.hosts.clear()


@contextmanager
def network(folder: Path, settings: Mapping[str, str]) -> Iterator[Network]:
    """With a switch and no other host yet; `settings` are variables of each who logs in."""
    made = Network(folder=folder)
    common = made.shared / ".hosts"
    common.mkdir(parents=True)
    for key in (made.key, common / "host_key"):
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key))
    shutil.copyfile(made.key.with_suffix(".pub"), common / "authorized_keys")
    shutil.copyfile(made.key, common / "id")
    (common / "id").chmod(0o600)
    (common / "sshd_config").write_text(SSHD)
    path = f"{Path(sys.executable).parent}:/usr/sbin:/usr/bin:/sbin:/bin"
    lines = [f"export {name}={shlex.quote(value)}" for name, value in {"PATH": path, **settings}.items()]
    (common / "profile.sh").write_text("\n".join([*lines, ""]))
    try:
        made.add("switch", SWITCH, sshd=False)
        yield made
    finally:
        made.end()
