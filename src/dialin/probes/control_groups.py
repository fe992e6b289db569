"""Reads the limits that control groups set for this process: CPU time and memory.

Cost: a few reads of /proc and /sys. Privileges: none. A container usually sees its own group as the root of the hierarchy.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from dialin.probes.kernel_files import number, read


def cpu_quota(root: Path = Path("/")) -> float | None:
    """Return the CPU quota as a number of CPUs; None where there is no quota, or none can be read."""
    quotas = [read(group / "cpu.max").split() for group in _groups(root, "")]
    quotas += [[read(group / "cpu.cfs_quota_us"), read(group / "cpu.cfs_period_us")] for group in _groups(root, "cpu")]
    pairs = [(number(quota), number(period)) for quota, period in (texts for texts in quotas if len(texts) == 2)]
    return min((quota / period for quota, period in pairs if quota and period and quota > 0), default=None)


def memory_limit(memory: int | None, root: Path = Path("/")) -> int | None:
    """Return the memory limit in bytes; None where no limit is below the machine's memory (`memory`), or none can be read."""
    # Version 1 of control groups reports a number near 2^63 where there is no limit.
    return min((limit for limit, _ in _memory(root) if memory is None or limit < memory), default=None)


def memory_left(root: Path = Path("/")) -> int | None:
    """Return how many bytes of the memory limits are unused; None where there is no limit, or none can be read."""
    return min((limit - used for limit, used in _memory(root) if used is not None), default=None)


def _memory(root: Path) -> Iterator[tuple[int, int | None]]:
    for controller, most, current in (
        ("", "memory.max", "memory.current"),
        ("memory", "memory.limit_in_bytes", "memory.usage_in_bytes"),
    ):
        for group in _groups(root, controller):
            if (limit := number(read(group / most))) is not None:
                yield limit, number(read(group / current))


def _groups(root: Path, controller: str) -> Iterator[Path]:
    """Yield the directories of a controller's group and of the groups above it; an empty controller selects version 2."""
    for line in read(root / "proc/self/cgroup").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controller not in controllers.split(","):
            continue
        inside = PurePosixPath(path.lstrip("/"))
        for mounted in (controller,) if controller else (".", "unified"):
            for part in (inside, *inside.parents):
                yield root / "sys/fs/cgroup" / mounted / part
