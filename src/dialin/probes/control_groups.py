"""What the control groups that this process is in allow it: CPU time and memory.

Cost: a few reads of /proc and /sys. Privileges: none. A container mostly sees its own group as the root of all.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from dialin.probes.kernel_files import number, read


def cpu_quota(root: Path = Path("/")) -> float | None:
    """Return how many CPUs' worth of time may be used; None where there is no quota, or none can be read."""
    quotas = [read(group / "cpu.max").split() for group in _groups(root, "")]
    quotas += [[read(group / "cpu.cfs_quota_us"), read(group / "cpu.cfs_period_us")] for group in _groups(root, "cpu")]
    pairs = [(number(quota), number(period)) for quota, period in (texts for texts in quotas if len(texts) == 2)]
    return min((quota / period for quota, period in pairs if quota and period and quota > 0), default=None)


def memory_limit(memory: int | None, root: Path = Path("/")) -> int | None:
    """Return how many bytes may be used; None where there is no limit below a machine's memory, or none can be read."""
    limits = [number(read(group / "memory.max")) for group in _groups(root, "")]
    limits += [number(read(group / "memory.limit_in_bytes")) for group in _groups(root, "memory")]
    # The first version of control groups tells a number near 2^63 where there is no limit.
    return min((limit for limit in limits if limit is not None and (memory is None or limit < memory)), default=None)


def _groups(root: Path, controller: str) -> Iterator[Path]:
    """Yield the directories of a controller's group and of those above it; the empty controller is that of version 2."""
    for line in read(root / "proc/self/cgroup").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controller not in controllers.split(","):
            continue
        inside = PurePosixPath(path.lstrip("/"))
        for mounted in (controller,) if controller else (".", "unified"):
            for part in (inside, *inside.parents):
                yield root / "sys/fs/cgroup" / mounted / part
