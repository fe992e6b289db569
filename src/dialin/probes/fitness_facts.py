"""Reads the facts that decide whether a machine is fit to measure. A fact that is not available is None; nothing is changed.

Cost: a second of watching, some tens of reads of /proc and /sys, and 20 fsyncs of 4 KiB in a file without a name.
Privileges: none; facts that only root may read are None for others.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import psutil

from dialin.clock import Clock
from dialin.model.cpus import count_cpus, cpu_time
from dialin.model.fitness import Busy, CpuFacts, Facts, LimitFacts, LoadFacts, MemoryFacts, PlaceFacts
from dialin.probes import control_groups, disk, host
from dialin.probes.kernel_files import number, read, selected_word

WATCHED = 1.0
"""Seconds that the machine is watched."""

_BUSIEST = 3
_LEAST_BUSY = 0.02
"""CPUs; a process that uses less is not listed."""

_MAY_RAISE_LIMITS = 1 << 24
"""The bit of CAP_SYS_RESOURCE in a set of capabilities."""

_READINGS = 20_000
"""The number of clock readings that are timed together; they take a few milliseconds."""

Process = tuple[int, str]
"""A process, by its id and its name."""


@dataclass(frozen=True, slots=True)
class Counters:
    """Cumulative figures of the machine; None where the kernel does not report them.

    Attributes:
        busy: CPU seconds that the usable CPUs were busy.
        lost: CPU time that was stolen, and the time in which tasks waited for a CPU.
        waited_io: seconds in which some task waited for a disk.
        waited_memory: seconds in which some task waited for memory.
        swapped: pages that went to swap or came back.
    """

    busy: float
    lost: host.Lost
    waited_io: float | None = None
    waited_memory: float | None = None
    swapped: int | None = None


def facts(directory: Path, clock: Clock, root: Path = Path("/")) -> Facts:
    """Return the facts of this machine, and of the disk that an existing directory lies on."""
    memory = _memory(root)
    return Facts(
        cpu=_cpu(clock, root),
        memory=memory,
        # The load is watched before the fsyncs are measured, so that dialin's own writes do not count as load.
        load=watch(clock, lambda: counters(root), used_by_others, root),
        disk=disk.facts(directory, clock, root),
        limits=_limits(memory.total, root),
        place=_place(root),
    )


def limited(facts: Facts, memory: int | None, cpus: str | None) -> Facts:
    """Return the facts for a server in a container with limits: bytes of memory, and CPUs such as `0-3` or `1.5`."""
    if memory is not None:
        left, total = (min(filter(None, (memory, known))) for known in (facts.memory.available, facts.memory.total))
        limits = replace(facts.limits, memory_limit=memory, are_chosen=True)
        facts = replace(facts, memory=replace(facts.memory, available=left, total=total), limits=limits)
    if cpus is not None:
        cpu = replace(facts.cpu, usable=min(math.ceil(count_cpus(cpus)), facts.cpu.usable))
        facts = replace(facts, cpu=cpu, limits=replace(facts.limits, cpu_quota=cpu_time(cpus), are_chosen=True))
    return facts


def counters(root: Path = Path("/")) -> Counters:
    """Return the cumulative figures at this moment."""
    lines = [line.split() for line in read(root / "proc/vmstat").splitlines() if line.startswith(("pswpin ", "pswpout "))]
    return Counters(
        busy=host.busy_seconds(),
        lost=host.lost(),
        waited_io=host.pressure_total(read(root / "proc/pressure/io")),
        waited_memory=host.pressure_total(read(root / "proc/pressure/memory")),
        swapped=sum(number(pages) or 0 for _, pages in lines) if lines else None,
    )


def used_by_others() -> dict[Process, float]:
    """Return the CPU seconds that each process except this one has used."""
    used = {}
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            times = process.cpu_times()
            if process.pid != os.getpid():
                used[process.pid, process.name()] = times.user + times.system
    return used


def watch(
    clock: Clock, count: Callable[[], Counters], used: Callable[[], dict[Process, float]], root: Path = Path("/")
) -> LoadFacts:
    """Watch the machine for `WATCHED` seconds and return its load; `count` and `used` read cumulative figures.

    The facts are those of `LoadFacts`.
    """
    # Reading the times of all processes uses CPU itself, so it happens outside of the watched time.
    used_before, before, began = used(), count(), clock.monotonic()
    clock.sleep(WATCHED)
    seconds = clock.monotonic() - began
    after, running = count(), number(read(root / "proc/loadavg").partition("/")[0].rpartition(" ")[2])
    cpus_used = {process: (total - used_before.get(process, total)) / seconds for process, total in used().items()}
    busiest = sorted(cpus_used, key=lambda process: -cpus_used[process])[:_BUSIEST]
    return LoadFacts(
        seconds=seconds,
        busy=host.share(after.busy, before.busy, seconds * host.cpu_count()),
        runnable=None if running is None else max(0, running - 1),
        stolen=host.share(after.lost.stolen, before.lost.stolen, seconds * after.lost.cpus),
        stolen_since_boot=host.share(after.lost.stolen, 0.0, after.busy),
        waited_cpu=host.share(after.lost.waited, before.lost.waited, seconds),
        waited_io=host.share(after.waited_io, before.waited_io, seconds),
        waited_memory=host.share(after.waited_memory, before.waited_memory, seconds),
        swapped=None if after.swapped is None or before.swapped is None else (after.swapped - before.swapped) / seconds,
        busiest=tuple(Busy(name, pid, cpus_used[pid, name]) for pid, name in busiest if cpus_used[pid, name] >= _LEAST_BUSY),
    )


def _cpu(clock: Clock, root: Path) -> CpuFacts:
    cpus, nodes = root / "sys/devices/system/cpu", root / "sys/devices/system/node"
    frequency, source = cpus / "cpu0/cpufreq", root / "sys/devices/system/clocksource/clocksource0"
    governors = Counter(read(path) for path in cpus.glob("cpu[0-9]*/cpufreq/scaling_governor"))
    turbo, switch = _turbo(cpus)
    listed = {int(path.name[4:]): read(path / "cpulist") for path in nodes.glob("node[0-9]*")}
    distances = [int(text) for text in read(nodes / "node0/distance").split() if text.isdecimal()]
    return CpuFacts(
        usable=host.cpu_count(),
        governors={governor: count for governor, count in sorted(governors.items()) if governor} or None,
        driver=read(frequency / "scaling_driver") or None,
        turbo=turbo,
        turbo_switch=switch,
        base_hz=_hertz(frequency / "base_frequency"),
        most_hz=_hertz(frequency / "cpuinfo_max_freq"),
        clock_source=read(source / "current_clocksource") or None,
        clock_sources=tuple(read(source / "available_clocksource").split()) or None,
        clock_read=_reading(clock),
        nodes={node: listed[node] for node in sorted(listed) if listed[node]} or None,
        distance=max(distances) / min(distances) if distances else None,
    )


def _turbo(cpus: Path) -> tuple[bool | None, str | None]:
    """Return whether the clock may exceed its base frequency, and the file that turns that on and off."""
    for name, on in (("intel_pstate/no_turbo", "0"), ("cpufreq/boost", "1")):
        if value := read(cpus / name):
            return value == on, f"/sys/devices/system/cpu/{name}"
    return None, None


def _hertz(path: Path) -> float | None:
    kilohertz = number(read(path))
    return None if kilohertz is None else kilohertz * 1000.0


def _reading(clock: Clock) -> float:
    began = clock.monotonic()
    for _ in range(_READINGS):
        clock.monotonic()
    return (clock.monotonic() - began) / _READINGS


def _memory(root: Path) -> MemoryFacts:
    lines = (line.partition(":") for line in read(root / "proc/meminfo").splitlines())
    table = {name: size * 1024 for name, _, text in lines if (size := number(text.removesuffix("kB"))) is not None}
    total, free = table.get("SwapTotal"), table.get("SwapFree")
    pages = root / "sys/kernel/mm/transparent_hugepage"
    return MemoryFacts(
        total=table.get("MemTotal"),
        available=host.memory_available() if table else None,
        swap_total=total,
        swap_used=None if total is None or free is None else total - free,
        swappiness=number(read(root / "proc/sys/vm/swappiness")),
        huge_pages=selected_word(read(pages / "enabled")),
        huge_pages_defrag=selected_word(read(pages / "defrag")),
    )


def _limits(memory: int | None, root: Path) -> LimitFacts:
    soft, hard = psutil.Process().rlimit(psutil.RLIMIT_NOFILE)
    capabilities = [line.split()[1] for line in read(root / "proc/self/status").splitlines() if line.startswith("CapEff:")]
    return LimitFacts(
        files=soft,
        files_most=hard,
        may_raise=bool(int(capabilities[0], 16) & _MAY_RAISE_LIMITS) if capabilities else None,
        aio_used=number(read(root / "proc/sys/fs/aio-nr")),
        aio_most=number(read(root / "proc/sys/fs/aio-max-nr")),
        cpu_quota=control_groups.cpu_quota(root),
        memory_limit=control_groups.memory_limit(memory, root),
    )


def _place(root: Path) -> PlaceFacts:
    flags = next((line.split() for line in read(root / "proc/cpuinfo").splitlines() if line.startswith("flags")), None)
    maker = " ".join(filter(None, (read(root / "sys/class/dmi/id" / name) for name in ("sys_vendor", "product_name"))))
    marks = {"docker": root / ".dockerenv", "podman": root / "run/.containerenv"}
    marked = next((name for name, path in marks.items() if path.exists()), "")
    return PlaceFacts(
        virtual="hypervisor" in flags if flags else None,
        maker=maker or None,
        container=read(root / "run/systemd/container") or marked,
    )
