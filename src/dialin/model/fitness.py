"""The facts that decide whether a machine is fit to measure, and the findings on them.

A fact that this machine does not report is None, which counts neither as good nor as bad.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

FAR_MS = 0.5
"""Milliseconds of a round trip from which on the network takes a notable part of short statements, so that a load from near the
server is proposed: a read from memory takes less."""


@dataclass(frozen=True, slots=True)
class CpuFacts:
    """The processors and their clocks.

    Attributes:
        usable: how many CPUs this process may use.
        governors: the frequency governors, each with the number of CPUs that use it.
        driver: the frequency driver, such as `intel_pstate`.
        turbo: whether the clock may exceed the base frequency.
        turbo_switch: the file that turns turbo on and off.
        base_hz: the frequency without turbo.
        clock_source: the source that the kernel reads the time from.
        clock_sources: the sources that it could use.
        clock_read: seconds that one reading of the time takes, those of the interpreter included.
        nodes: the CPUs of each NUMA node, as `0-15`.
        distance: the largest NUMA distance that the firmware reports, where a node's own memory has 1.
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
        rotational: whether the kernel reports a disk with rotating platters.
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
    """The activity of the machine over a short time without load by dialin.

    Attributes:
        seconds: the length of that time.
        busy: the share of the usable CPUs that was used.
        runnable: how many tasks wanted a CPU at its end, dialin's left out.
        stolen: the share of all CPUs' time that a hypervisor gave to others.
        stolen_since_boot: since boot, the share of the CPU time wanted by programs that a hypervisor gave to others.
        waited_cpu: the share of the time in which some task waited for a CPU.
        waited_io: the same for a disk.
        waited_memory: the same for memory.
        swapped: pages that went to swap or came back, per second.
        busiest: the processes that used most CPU, dialin's left out; the first is the busiest.
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
    """The limits on what servers may use.

    Attributes:
        files: the soft limit of open files of a process.
        files_most: the hard limit, up to which a process may raise the soft limit itself.
        may_raise: whether a process may raise the hard limit too, as root usually may.
        aio_used: asynchronous I/O requests that are reserved on this machine.
        aio_most: how many can be reserved.
        cpu_quota: how many CPUs' time the control group may use; None also where there is no quota.
        memory_limit: bytes that the control group may use; None also where there is no limit.
        are_chosen: whether these two are those of a server's container, which the user chose.
    """

    files: int | None = None
    files_most: int | None = None
    may_raise: bool | None = None
    aio_used: int | None = None
    aio_most: int | None = None
    cpu_quota: float | None = None
    memory_limit: int | None = None
    are_chosen: bool = False


@dataclass(frozen=True, slots=True)
class PlaceFacts:
    """What lies between this system and the hardware.

    Attributes:
        virtual: whether it runs on a hypervisor.
        maker: the machine's name in the firmware.
        container: the kind of container, such as `docker`; empty where nothing indicates one.
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


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """What SQL shows of an attached server, as far as it concerns a measurement on it.

    Attributes:
        server: the build and its account, in words.
        round_trips: seconds that the shortest statement took, one for each try.
        in_use: why the server counts as in use; None where the account sees no other sessions.
        read_only: the variable that makes it read-only; empty where it takes writes.
        may_set: whether the account may change global variables; None where the server does not say.
        performance_schema: whether it records waits and statements.
        is_here: whether its process is on this machine, and visible.
    """

    server: str
    round_trips: tuple[float, ...]
    in_use: tuple[str, ...] | None
    read_only: str
    may_set: bool | None
    performance_schema: bool
    is_here: bool


class Severity(StrEnum):
    """How much a finding matters to a measurement."""

    GOOD = "good"
    NOTICE = "notice"
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check of a machine.

    Attributes:
        effect: its effect on a measurement; may be empty for a good finding.
        remedy: how to fix it; empty for a good finding.
        command: a command line that fixes it; empty where no single one does.
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


def by_severity(findings: Iterable[Finding | None]) -> list[Finding]:
    """Return the findings that there are, the most severe first."""
    order = [Severity.BAD, Severity.NOTICE, Severity.GOOD]
    return sorted((one for one in findings if one), key=lambda one: order.index(one.severity))
