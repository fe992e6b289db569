"""Reads the limits that control groups set for a process, this one or a server: CPU time and memory.

Cost: a few reads of /proc and /sys. Privileges: none. A container usually sees its own group as the root of the hierarchy.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from dialin.probes.kernel_files import number, read

SELF = "self"
"""This process; others are named by their PID."""


def cpu_quota(root: Path = Path("/"), process: int | str = SELF) -> float | None:
    """Return the CPU quota as a number of CPUs; None where there is no quota, or none can be read."""
    quotas = [read(group / "cpu.max").split() for group in _groups(root, "", process)]
    quotas += [[read(group / "cpu.cfs_quota_us"), read(group / "cpu.cfs_period_us")] for group in _groups(root, "cpu", process)]
    pairs = [(number(quota), number(period)) for quota, period in (texts for texts in quotas if len(texts) == 2)]
    return min((quota / period for quota, period in pairs if quota and period and quota > 0), default=None)


def memory_limit(memory: int | None, root: Path = Path("/"), process: int | str = SELF) -> int | None:
    """Return the memory limit in bytes; None where no limit is below the machine's memory (`memory`), or none can be read."""
    # Version 1 of control groups reports a number near 2^63 where there is no limit.
    return min((limit for limit, _ in _memory(root, process) if memory is None or limit < memory), default=None)


def memory_left(root: Path = Path("/")) -> int | None:
    """Return how many bytes of the memory limits are unused; None where there is no limit, or none can be read."""
    return min((limit - used for limit, used in _memory(root, SELF) if used is not None), default=None)


def _memory(root: Path, process: int | str) -> Iterator[tuple[int, int | None]]:
    for controller, most, current in (
        ("", "memory.max", "memory.current"),
        ("memory", "memory.limit_in_bytes", "memory.usage_in_bytes"),
    ):
        for group in _groups(root, controller, process):
            if (limit := number(read(group / most))) is not None:
                yield limit, number(read(group / current))


def throttled(process: int, root: Path = Path("/")) -> tuple[int, int] | None:
    """Return in how many periods CPU quotas stopped a process, and the periods so far; None without a quota.

    Its container may have a quota, and so may what the container is in, such as a pod. Stops of all of them add up: each is one
    of the process, and unlike those of whichever stops it most now, they only grow.
    """
    tables = [
        dict(words for line in read(group / "cpu.stat").splitlines() if len(words := line.split()) == 2)
        for controller in ("cpu", "")
        for group in _groups(root, controller, process)
    ]
    counted = [(number(table.get("nr_throttled", "")) or 0, number(table.get("nr_periods", "")) or 0) for table in tables]
    periods = max((periods for _, periods in counted), default=0)
    return (sum(stops for stops, _ in counted), periods) if periods else None


def _groups(root: Path, controller: str, process: int | str) -> Iterator[Path]:
    """Yield the directories of a process's group and of the groups above it; an empty controller selects version 2."""
    for line in read(root / f"proc/{process}/cgroup").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controller not in controllers.split(","):
            continue
        inside = PurePosixPath(path.lstrip("/"))
        for mounted in (controller,) if controller else (".", "unified"):
            for part in (inside, *inside.parents):
                yield root / "sys/fs/cgroup" / mounted / part
