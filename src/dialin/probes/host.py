"""Reads facts on the machine, and its cumulative CPU figures.

Cost: a few reads of /proc. Privileges: none.
"""

from __future__ import annotations

import math
import os
import platform
import re
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from dialin.model.build import Build
from dialin.model.cpus import count_cpus
from dialin.probes import control_groups, disk
from dialin.probes.kernel_files import read, selected_word

_MODEL = re.compile(r"^[ \t]*model name\s*:(.+)", re.MULTILINE | re.IGNORECASE)
_SOME = re.compile(r"^some .*\btotal=(\d+)", re.MULTILINE)


def inventory(directory: Path) -> dict[str, Any]:
    """Return facts on the machine: CPU, memory, kernel, and the disk and file system of a directory.

    Unknown facts are left out. No fact identifies a person or an address, or holds a secret.
    """
    facts: dict[str, Any] = {
        "system": _system(),
        "kernel": platform.release(),
        "machine": platform.machine(),
        "cpu": _processor(),
        "cpus": cpu_count(),
        "memory_bytes": psutil.virtual_memory().total,
        "swap_bytes": psutil.swap_memory().total,
        "open_files_limit": psutil.Process().rlimit(psutil.RLIMIT_NOFILE)[0],
        **_file_system(directory),
    }
    if governor := read(Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")):
        facts["governor"] = governor
    if pages := read(Path("/sys/kernel/mm/transparent_hugepage/enabled")):
        facts["transparent_hugepage"] = selected_word(pages) or pages
    return facts


@dataclass(frozen=True, slots=True)
class Lost:
    """CPU time that programs requested and did not get, since the boot of the machine.

    Attributes:
        stolen: CPU seconds that the hypervisor gave to other machines; None where the kernel does not report them.
        waited: seconds in which at least one task waited for a CPU; None where the kernel does not report them.
        cpus: the number of CPUs that `stolen` covers.
    """

    stolen: float | None
    waited: float | None
    cpus: int


def lost() -> Lost:
    """Return the CPU time lost since the boot of the machine; cheap enough to call in each second of a trial."""
    stolen = getattr(psutil.cpu_times(), "steal", None)
    return Lost(
        stolen=None if stolen is None else float(stolen),
        waited=pressure_total(read(Path("/proc/pressure/cpu"))),
        cpus=psutil.cpu_count() or 1,
    )


def pressure_total(text: str) -> float | None:
    """Return the seconds in which some task waited, from the text of a file in /proc/pressure; None where it lacks them."""
    match = _SOME.search(text)
    return int(match[1]) / 1e6 if match else None


def share(now: float | None, before: float | None, of: float) -> float | None:
    """Return the rise of a cumulative figure as a share of `of`, 0 to 1; None where a figure is unknown or `of` is 0."""
    if now is None or before is None or of <= 0:
        return None
    # Counters of stolen time sometimes go back a little, and the figures are not read at the same instant.
    return min(1.0, max(0.0, (now - before) / of))


def busy_seconds() -> float:
    """Return the busy time of the CPUs that this process may use, since the boot of the machine, in CPU seconds.

    Waiting for a disk does not count as busy.
    """
    times_of_cpus = psutil.cpu_times(percpu=True)
    return sum(_busy(times_of_cpus[cpu]) for cpu in os.sched_getaffinity(0) if cpu < len(times_of_cpus))


def _busy(times: Any) -> float:
    idle = times.idle + getattr(times, "iowait", 0.0)
    # User time already includes guest time.
    total = sum(times) - getattr(times, "guest", 0.0) - getattr(times, "guest_nice", 0.0)
    return float(total - idle)


def cpu_count() -> int:
    """Return how many CPUs this process may use."""
    return len(os.sched_getaffinity(0))


def cpu_seconds(pid: int) -> float:
    """Return the CPU seconds, user and system, that a process has used; 0 where the process has ended.

    The process's CPU clock counts in nanoseconds. /proc/PID/stat counts in ticks of 10 ms, and a driver at a low rate
    takes less than one tick per second.
    """
    clock = (~pid << 3) | 2  # as clock_getcpuclockid(3) encodes it
    try:
        return time.clock_gettime(clock)
    except OSError:
        return 0.0


def memory_available() -> int:
    """Return the bytes of memory that can be used without swapping, within the limit of a container."""
    available = int(psutil.virtual_memory().available)
    left = control_groups.memory_left()
    return available if left is None else min(available, left)


def memory_within(pid: int, memory: int) -> int:
    """Return `memory`, bytes, or the memory limit of a process's container, whichever is less."""
    return min(memory, control_groups.memory_limit(None, process=pid) or memory)


def cpus_of(pid: int) -> int:
    """Return how many CPUs' time a process on this machine may use, a part of one counted as one."""
    return min(cpu_count(), math.ceil(control_groups.cpu_quota(process=pid) or cpu_count()))


def memory_for(build: Build) -> int:
    """Return the bytes of memory that a server of a build may take: what is available, within its container's limit."""
    limit = build.image.memory if build.image else None
    return memory_available() if limit is None else min(memory_available(), limit)


def cpus_for(build: Build) -> int:
    """Return how many CPUs a server of a build may use, a part of one counted as one."""
    cpus = build.image.cpus if build.image else None
    return cpu_count() if cpus is None else math.ceil(count_cpus(cpus))


def _system() -> str:
    with suppress(OSError):
        return platform.freedesktop_os_release().get("PRETTY_NAME", platform.system())
    return platform.system()


def _processor() -> str:
    match = _MODEL.search(read(Path("/proc/cpuinfo")))
    if match is None:  # only x86 kernels report the model name in that file
        with suppress(OSError, subprocess.TimeoutExpired):
            environment = {**os.environ, "LC_ALL": "C"}
            output = subprocess.run(["lscpu"], check=False, capture_output=True, env=environment, timeout=10).stdout
            match = _MODEL.search(output.decode(errors="replace"))
    return " ".join(match[1].split()) if match else "unknown"


def _file_system(directory: Path) -> dict[str, str]:
    path = next(part for part in [directory.absolute(), *directory.absolute().parents] if part.exists())
    mount, device = disk.find_mount_and_disk(path)
    facts = {"file_system": mount.kind} if mount else {}
    if device:
        facts["disk"] = read(device / "device/model") or device.name
        if (rotational := disk.rotates(device)) is not None:
            facts["disk_rotational"] = "yes" if rotational else "no"
    return facts
