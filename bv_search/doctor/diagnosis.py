"""All that decides how the verbs work here, on one screen."""

import os
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bv_search.command import AUTO
from bv_search.doctor import machine, services
from bv_search.doctor.machine import Machine
from bv_search.doctor.services import Service, without_secrets
from bv_search.files import cache_folder
from bv_search.tune.config import TuneConfig

PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
LOW_DISK, LOW_MEMORY = 10e9, 4e9  # bytes


@dataclass(frozen=True, kw_only=True)
class UsedFolder:
    what: str
    path: str
    writable: bool
    named_by: str  # the variable that says where it is


@dataclass(frozen=True, kw_only=True)
class Choices:
    """What the verbs take where nobody says otherwise."""

    scan_workers: int
    threads: int  # of each
    heads: str  # the precision of their wide products
    device: str  # of encoders
    precision: str  # of their forward pass

    def __str__(self) -> str:
        workers = f"{self.scan_workers} scan worker{'' if self.scan_workers == 1 else 's'}"
        threads = f"{self.threads} thread{'' if self.threads == 1 else 's'}"
        return f"{workers} of {threads}, heads in {self.heads}; encoders on {self.device} in {self.precision}"


@dataclass(frozen=True, kw_only=True)
class Diagnosis:
    machine: Machine
    services: tuple[Service, ...]
    proxies: dict[str, str]
    folders: tuple[UsedFolder, ...]
    choices: Choices

    @property
    def complaints(self) -> list[str]:
        """What will stop or slow a verb, and what to do."""
        return list(_complaints(self))

    @property
    def ok(self) -> bool:
        return not self.complaints

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "complaints": self.complaints, "ok": self.ok}

    def __str__(self) -> str:
        here, chosen = self.machine, self.choices
        lines = [
            ("processor", here.cpu),
            ("  features", ", ".join(here.features) or "none that matter here"),
            ("cores", str(here.cores)),
            ("memory", f"{here.memory / 1e9:.1f} GB, {here.memory_free / 1e9:.1f} free"),
            ("GPUs", ", ".join(here.gpus) or "none"),
            ("disk", f"{here.disk_free / 1e9:.1f} GB free for {here.runs}"),
            *((each.name, _of_service(each)) for each in self.services),
            ("proxies", ", ".join(f"{name} {value}" for name, value in self.proxies.items()) or "none"),
            *((each.what, each.path) for each in self.folders),
            ("chosen", str(chosen)),
        ]
        complaints = self.complaints or ["nothing stands in the way"]
        return "\n".join([*(f"{name:<10}  {value}" for name, value in lines), "", *complaints])


def diagnose(runs: Path = TuneConfig.runs) -> Diagnosis:
    here = machine.look(runs)
    return Diagnosis(
        machine=here,
        services=tuple(services.look(runs)),
        proxies=_proxies(),
        folders=tuple(_folders()),
        choices=_choose(here),
    )


def _choose(here: Machine) -> Choices:
    """Asked of those who choose."""
    import torch

    from bv_search.extract.settings import survey_hardware
    from bv_search.heads.branches.product import product
    from bv_search.precision import choose_precision
    from bv_search.tune.workers import WorkerShare

    share = WorkerShare.of_cluster([{"CPU": here.cores, "GPU": len(here.gpus)}], None)
    hardware = survey_hardware()
    return Choices(
        scan_workers=share.workers,
        threads=share.threads,
        heads=choose_precision(AUTO, torch.device(hardware.device), product).precision,
        device=hardware.device,
        precision=hardware.precision,
    )


def _proxies() -> dict[str, str]:
    """Without the names and passwords that may stand in them."""
    named = {name: os.environ.get(name) or os.environ.get(name.upper()) for name in PROXIES}
    return {name: without_secrets(value) for name, value in named.items() if value}


def _folders() -> Iterator[UsedFolder]:
    from huggingface_hub.constants import HF_HUB_CACHE

    for what, path, variable in (
        ("home", Path.home(), "HOME"),
        ("temporary", Path(tempfile.gettempdir()), "TMPDIR"),
        ("cache", cache_folder(), "BV_CACHE"),
        ("encoders", Path(HF_HUB_CACHE), "HF_HOME"),
    ):
        yield UsedFolder(what=what, path=str(path), writable=_is_writable(path), named_by=variable)


def _is_writable(folder: Path) -> bool:
    """Itself, or the folder that it would be made in."""
    there = next(each for each in (folder, *folder.parents) if each.exists())
    return there.is_dir() and os.access(there, os.W_OK | os.X_OK)


def _of_service(service: Service) -> str:
    if service.address is None:
        return f"{service.version}, on this machine"
    answers = "answers" if service.trouble is None else "does not answer"
    return f"{service.version}, {service.address}: {answers}"


def _complaints(found: Diagnosis) -> Iterator[str]:
    disk, memory = found.machine.disk_free, found.machine.memory_free
    for service in found.services:
        if service.trouble is not None:
            yield f"{service.name} is not to be had: {service.trouble}"
    for folder in found.folders:
        if not folder.writable:
            yield f"{folder.path} cannot be written: name another by {folder.named_by}"
    if disk < LOW_DISK:
        yield f"{disk / 1e9:.1f} GB of disk are little: `bv-search extract --format none` stores no states"
    if memory < LOW_MEMORY:
        yield f"{memory / 1e9:.1f} GB of memory are little: an encoding process takes 2 beside its encoder"
