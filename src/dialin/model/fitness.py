"""The facts that decide whether a machine is fit to measure, and the findings on them.

A fact that this machine does not report is None, which counts neither as good nor as bad.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class CpuFacts:
    """The processors and their clocks.

    Attributes:
        usable: how many CPUs this process may use.
        governors: what chooses the clock, with the number of CPUs that it does so for.
        driver: what the governor works through, such as `intel_pstate`.
        turbo: whether the clock may go above its base.
        turbo_switch: the file that turns that on and off.
        base_hz: the clock that is kept without it.
        clock_source: what the kernel reads the time from.
        clock_sources: what it could read it from.
        clock_read: seconds that one reading takes, those of the interpreter included.
        nodes: the CPUs of each NUMA node, as `0-15`.
        distance: how far the farthest node's memory is, as firmware puts it, a node's own being 1.
    """

    usable: int
    governors: Mapping[str, int] | None = None
    driver: str | None = None
    turbo: bool | None = None
    turbo_switch: str | None = None
    base_hz: float | None = None
    most_hz: float | None = None
    clock_source: str | None = None
    clock_sources: tuple[str, ...] | None = None
    clock_read: float | None = None
    nodes: Mapping[int, str] | None = None
    distance: float | None = None


@dataclass(frozen=True, slots=True)
class MemoryFacts:
    """Memory and swap, in bytes.

    Attributes:
        available: what can be used without swapping, a container's limit taken into account.
        swap_total: room for what is swapped out.
        swap_used: what is swapped out now.
        swappiness: how readily the kernel swaps, 0 to 200.
        huge_pages: when transparent huge pages are used: `always`, `madvise` or `never`.
        huge_pages_defrag: when memory is compacted for them.
    """

    total: int | None = None
    available: int | None = None
    swap_total: int | None = None
    swap_used: int | None = None
    swappiness: int | None = None
    huge_pages: str | None = None
    huge_pages_defrag: str | None = None


@dataclass(frozen=True, slots=True)
class DiskFacts:
    """The disk below a directory.

    Attributes:
        rotational: whether the kernel takes it for one with turning platters.
        scheduler: what orders its requests.
        write_cache: `write back` where the kernel must flush a cache of the device, else `write through`.
        free: bytes that may still be written.
        fsyncs: seconds that each of a few small fsyncs in the directory took.
    """

    directory: str
    file_system: str | None = None
    options: tuple[str, ...] | None = None
    disk: str | None = None
    model: str | None = None
    rotational: bool | None = None
    scheduler: str | None = None
    write_cache: str | None = None
    free: int | None = None
    fsyncs: tuple[float, ...] | None = None


@dataclass(frozen=True, slots=True)
class Busy:
    """A process that uses CPU: its name, its number, and how many CPUs it takes."""

    name: str
    pid: int
    cpus: float


@dataclass(frozen=True, slots=True)
class LoadFacts:
    """What the machine does now, over a second without load of ours.

    Attributes:
        busy: the share of the usable CPUs that was used.
        runnable: how many tasks wanted a CPU at its end, ours left out.
        stolen: the share of all CPUs' time that a hypervisor gave to others.
        stolen_since_boot: the share of what programs wanted of the CPUs that it gave to others, since the machine started.
        waited_cpu: the share of the time in which some task waited for a CPU.
        waited_io: the same for a disk.
        waited_memory: the same for memory.
        swapped: pages that went to swap or came back, per second.
        busiest: the processes that used most CPU, ours left out; the first is the busiest.
    """

    seconds: float
    busy: float | None = None
    runnable: int | None = None
    stolen: float | None = None
    stolen_since_boot: float | None = None
    waited_cpu: float | None = None
    waited_io: float | None = None
    waited_memory: float | None = None
    swapped: float | None = None
    busiest: tuple[Busy, ...] = ()


@dataclass(frozen=True, slots=True)
class LimitFacts:
    """What servers may have.

    Attributes:
        files: open files that a process has leave for.
        files_most: how many it may give itself leave for.
        may_raise: whether it may go above that too, as root mostly does.
        aio_used: asynchronous requests that are reserved on this machine.
        aio_most: how many can be.
        cpu_quota: CPUs' worth of time that the control group may use; None also where there is no quota.
        memory_limit: bytes that the control group may use; None also where there is no limit.
    """

    files: int | None = None
    files_most: int | None = None
    may_raise: bool | None = None
    aio_used: int | None = None
    aio_most: int | None = None
    cpu_quota: float | None = None
    memory_limit: int | None = None


@dataclass(frozen=True, slots=True)
class PlaceFacts:
    """What lies between this system and the hardware.

    Attributes:
        virtual: whether it runs on a hypervisor.
        maker: what the firmware calls the machine.
        container: what contains it, such as `docker`; empty where nothing hints at a container.
    """

    virtual: bool | None = None
    maker: str | None = None
    container: str = ""


@dataclass(frozen=True, slots=True)
class Facts:
    cpu: CpuFacts
    memory: MemoryFacts
    disk: DiskFacts
    load: LoadFacts
    limits: LimitFacts
    place: PlaceFacts


class Severity(StrEnum):
    """How much a finding matters to a measurement."""

    GOOD = "good"
    NOTICE = "notice"
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        observed: what it is here, with its figures.
        effect: what it does to a measurement; may be empty where it is good.
        remedy: what to do about it; empty where it is good.
        command: one line to type for that; empty where no one line does.
    """

    subject: str
    observed: str
    severity: Severity
    effect: str = ""
    remedy: str = ""
    command: str = ""

    @classmethod
    def good(cls, subject: str, observed: str, effect: str = "") -> Finding:
        return cls(subject, observed, Severity.GOOD, effect)
