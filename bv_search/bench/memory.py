"""How much memory a process has, and has had at most, as Linux counts it; elsewhere nothing is known."""

from pathlib import Path

LINUX = Path("/proc/self/clear_refs").exists()


def resident() -> int:
    return _status("VmRSS")


def peak() -> int:
    """The most since the process began, or since `forget_peak`."""
    return _status("VmHWM")


def forget_peak() -> None:
    if LINUX:
        Path("/proc/self/clear_refs").write_text("5")


def _status(name: str) -> int:
    if not LINUX:
        return 0
    lines = Path("/proc/self/status").read_text().splitlines()
    (line,) = (line for line in lines if line.startswith(f"{name}:"))
    return int(line.split()[1]) * 1024
