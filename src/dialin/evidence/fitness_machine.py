"""Findings on CPUs, clock, memory, disk, limits, containers and hypervisors. A part of `fitness_findings`."""

from __future__ import annotations

import statistics

from dialin.evidence.load_limits import FOREIGN
from dialin.model.fitness import CpuFacts, DiskFacts, Finding, LimitFacts, MemoryFacts, PlaceFacts, Severity
from dialin.model.trial import LOST_GAP
from dialin.text import counted, listed, number, percent, size, visible

_FEW_CPUS = 2

_SLOW_CLOCK = 0.5e-6
"""Seconds; a clock reading without access to a device takes a fifth of that, including the Python interpreter's overhead."""

_FAST_CLOCKS = ("tsc", "kvm-clock")
_LEAST_MEMORY = 1024**3
_READY_TO_SWAP = 10
_SYS_CPU = "/sys/devices/system/cpu"
_HUGE_PAGES = "/sys/kernel/mm/transparent_hugepage"


def cpus(cpu: CpuFacts) -> Finding:
    observed = counted(cpu.usable, "CPU")
    if cpu.usable > _FEW_CPUS:
        return Finding.good("CPUs", observed)
    return Finding(
        "CPUs",
        observed,
        Severity.NOTICE,
        "The load driver and the server share them: CPU that the driver uses is missing for the server, so differences look "
        "smaller than on a server that has the machine to itself. A study reports how much the driver used.",
        "Use a machine with more CPUs and separate the two (--server-cpus, --load-cpus), or study a server on "
        "another machine (--attach).",
    )


def governor(cpu: CpuFacts) -> Finding | None:
    if not cpu.governors:
        return None
    names = set(cpu.governors)
    observed = listed([f"{visible(name)} on {counted(count, 'CPU')}" for name, count in cpu.governors.items()])
    if names == {"performance"}:
        return Finding.good("CPU governor", observed)
    severity = Severity.NOTICE
    effect = (
        "The clock follows the load, so a second after a stall, or a candidate that leaves CPUs idle, is measured at a "
        "lower clock."
    )
    # In these two drivers, powersave is a governor that follows the load; in all others it sets the lowest clock.
    if "powersave" in names and cpu.driver not in ("intel_pstate", "amd-pstate-epp"):
        severity = Severity.BAD
        effect = "powersave keeps CPUs at their lowest clock, which then limits every candidate."
    elif names == {"userspace"}:
        effect = "A program sets the clock, and it stays there until the program changes it."
    remedy = "Set the governor to performance while you measure. As root:"
    return Finding(
        "CPU governor", observed, severity, effect, remedy, f"echo performance | tee {_SYS_CPU}/cpu*/cpufreq/scaling_governor"
    )


def turbo(cpu: CpuFacts) -> Finding | None:
    if cpu.turbo is None or cpu.turbo_switch is None:
        return None
    if not cpu.turbo:
        return Finding.good("turbo", "off")
    rise = ""
    if cpu.base_hz and cpu.most_hz and cpu.most_hz > cpu.base_hz:
        rise = f": from {cpu.base_hz / 1e9:.1f} up to {cpu.most_hz / 1e9:.1f} GHz"
    off = 1 if cpu.turbo_switch.endswith("no_turbo") else 0
    return Finding(
        "turbo",
        f"on{rise}",
        Severity.NOTICE,
        "The clock depends on how many cores are busy and how warm they are, so trials after a pause can "
        "run faster than later ones. Random order keeps that from favoring a candidate, but it adds noise.",
        "Turn turbo off while you measure. As root:",
        f"echo {off} | tee {cpu.turbo_switch}",
    )


def clock(cpu: CpuFacts) -> Finding | None:
    if cpu.clock_source is None or cpu.clock_read is None:
        return None
    observed = f"{visible(cpu.clock_source)}, {number(cpu.clock_read * 1e9)} ns per reading"
    if cpu.clock_read < _SLOW_CLOCK:
        return Finding.good("clock source", observed)
    effect = (
        "Server and load driver read the time several times in each transaction: at 10,000 transactions per second, four "
        f"readings each take {percent(40_000 * cpu.clock_read)} of one CPU."
    )
    quick = [name for name in _FAST_CLOCKS if name in (cpu.clock_sources or ()) and name != cpu.clock_source]
    if not quick:
        remedy = "If the hypervisor or the firmware offers a faster clock source (tsc), select it there."
        return Finding("clock source", observed, Severity.NOTICE, effect, remedy)
    command = f"echo {quick[0]} | tee /sys/devices/system/clocksource/clocksource0/current_clocksource"
    return Finding("clock source", observed, Severity.NOTICE, effect, "Select a faster clock source. As root:", command)


def numa(cpu: CpuFacts) -> Finding | None:
    if not cpu.nodes:
        return None
    if len(cpu.nodes) == 1:
        return Finding.good("NUMA", "one node")
    server, load = list(cpu.nodes.values())[:2]
    far = f", the farthest {number(cpu.distance)} times as far as a node's own memory" if cpu.distance else ""
    return Finding(
        "NUMA",
        f"{len(cpu.nodes)} nodes{far}",
        Severity.NOTICE,
        "A server's memory and threads land on a different node at each start, which shifts whole trials.",
        f"Give the server the CPUs of one node and the load driver those of another: --server-cpus {server} "
        f"--load-cpus {load}. Memory then comes from the node that requests it, while it has some.",
    )


def memory(facts: MemoryFacts) -> Finding | None:
    if facts.available is None:
        return None
    observed = f"{size(facts.available)} available" + (f" of {size(facts.total)}" if facts.total else "")
    if facts.available >= _LEAST_MEMORY:
        return Finding.good("memory", observed, "Candidates that need more are refused before a study starts.")
    return Finding(
        "memory",
        observed,
        Severity.BAD,
        "MySQL 9.7 with default settings uses 0.5 GiB without any load. What does not fit is swapped out or killed.",
        "Stop the programs that use the memory, or raise the limit of the container.",
    )


def swap(facts: MemoryFacts, swapped: float | None) -> Finding | None:
    """Judge whether parts of a server could be swapped out; `swapped` is pages per second, in and out together."""
    if facts.swap_total is None:
        return None
    if facts.swap_total == 0:
        return Finding.good("swap", "none")
    used, moving = facts.swap_used or 0, (swapped or 0) > 0
    readiness = "" if facts.swappiness is None else f", swappiness {facts.swappiness}"
    rate = f", {number(swapped)} pages/s swapped in or out now" if moving else ""
    observed = f"{size(used)} of {size(facts.swap_total)} in use{readiness}{rate}"
    if not moving and used == 0 and facts.swappiness is not None and facts.swappiness <= _READY_TO_SWAP:
        return Finding.good("swap", observed)
    fits = facts.available is not None and used < facts.available
    return Finding(
        "swap",
        observed,
        Severity.BAD if moving else Severity.NOTICE,
        "A swapped-out page of the buffer pool returns at the speed of the disk, which looks like a stall of the "
        "server. Copying data for each trial fills the page cache, for which the kernel may swap out idle pages.",
        "Turn swap off while you measure. As root:" if fits else "Let the kernel swap only as a last resort. As root:",
        "swapoff -a" if fits else "sysctl vm.swappiness=1",
    )


def huge_pages(facts: MemoryFacts) -> Finding | None:
    if facts.huge_pages is None:
        return None
    observed = f"transparent ones: {visible(facts.huge_pages)}"
    if facts.huge_pages != "always":
        return Finding.good("huge pages", observed)
    waits = ""
    if facts.huge_pages_defrag == "always":
        waits = " With defrag=always a thread that requests one waits until memory is compacted."
    return Finding(
        "huge pages",
        observed + (f", defrag {visible(facts.huge_pages_defrag)}" if facts.huge_pages_defrag else ""),
        Severity.NOTICE,
        f"A server gets huge pages if the kernel has free ones, which differs between starts and shifts whole trials.{waits}",
        "Use them only for programs that request them. As root:",
        f"echo madvise | tee {_HUGE_PAGES}/enabled",
    )


_FILES_MYSQL, _FILES_MARIADB = 8_161, 32_184
"""Open files that MySQL 8.0 and 9.7, and MariaDB 10.11 and 11.4, request with default settings, as measured."""

_AIO_NEEDED = 2_661
"""Asynchronous requests that a server reserves with default settings, as counted: 2,048 (MariaDB 11.4) to 2,661 (MySQL 5.6)."""


def open_files(limits: LimitFacts) -> Finding | None:
    if limits.files is None or limits.files_most is None:
        return None
    observed = f"{limits.files:,}, and up to {limits.files_most:,} on request"
    if limits.may_raise:
        return Finding.good("open files", f"{limits.files:,}, and more on request")
    files = max(limits.files, limits.files_most)  # dialin raises its soft limit before it starts a server
    cuts = [cut for cut in (_mysql_cut(files), _mariadb_cut(files)) if cut]
    if not cuts:
        return Finding.good("open files", observed)
    return Finding(
        "open files",
        observed,
        Severity.NOTICE,
        f"By default {'; '.join(cuts)}. That is then effective for all candidates, and your server may have other values.",
        "Raise the hard limit and log in again: nofile in /etc/security/limits.conf, --ulimit nofile=65536 of a container.",
    )


def _mysql_cut(files: int) -> str:
    if files >= _FILES_MYSQL:
        return ""
    cache = max(400, (files - 161) // 2)
    return f"MySQL 8.0 and 9.7 request {_FILES_MYSQL:,}, get {files:,} and reduce table_open_cache from 4,000 to {cache:,}"


def _mariadb_cut(files: int) -> str:
    if files >= _FILES_MARIADB:
        return ""
    cache = min(2000, max(400, (files - 182) // 2))
    instances = max(1, (files - 182) // (2 * cache))
    what = f"table_open_cache from 2,000 to {cache:,} and its instances" if cache < 2000 else "table_open_cache_instances"
    return f"MariaDB 10.11 and 11.4 request {_FILES_MARIADB:,}, get {files:,} and reduce {what} from 8 to {instances}"


def aio(limits: LimitFacts) -> Finding | None:
    used, most = limits.aio_used, limits.aio_most
    if used is None or most is None:
        return None
    observed = f"{used:,} of {most:,} requests reserved"
    if most - used >= _AIO_NEEDED:
        return Finding.good("asynchronous I/O", observed)
    return Finding(
        "asynchronous I/O",
        observed,
        Severity.BAD,
        f"A server reserves 256 for each InnoDB I/O thread, up to {_AIO_NEEDED:,} by default. If it cannot, MySQL "
        "does not start, and MariaDB continues without asynchronous I/O.",
        "Raise the limit. As root:",
        f"sysctl fs.aio-max-nr={max(1_048_576, 2 * most)}",
    )


def container(limits: LimitFacts, place: PlaceFacts, cpus: int) -> Finding:
    quota = limits.cpu_quota
    observed = f"in {visible(place.container)}" if place.container else "none detected"
    observed += "; the server's container" if limits.are_chosen else ""
    observed += ", no CPU quota" if quota is None else f", a quota of {quota:g} CPUs"
    if limits.memory_limit is not None:
        observed += f", {size(limits.memory_limit)} of memory at most"
    if quota is None or quota >= cpus:
        return Finding.good("container", observed)
    return Finding(
        "container",
        observed,
        Severity.NOTICE if limits.are_chosen else Severity.BAD,
        f"{counted(cpus, 'CPU')} can run at the same time, so the quota of a period (usually 0.1 s) is used up "
        "before the period ends, and all threads wait for the next one: many short stalls that are not the server's.",
        "Give the container CPUs instead of a quota: --server-cpus 0,1, --cpuset-cpus of docker and podman, the static CPU "
        "manager of Kubernetes.",
    )


def hypervisor(place: PlaceFacts) -> Finding | None:
    if place.virtual is None:
        return None
    maker = f" ({visible(place.maker)})" if place.maker else ""
    if not place.virtual:
        return Finding.good("hypervisor", f"none{maker}")
    return Finding(
        "hypervisor",
        f"this is a virtual machine{maker}",
        Severity.NOTICE,
        f"Its host can stall, or be busy with other machines. Seconds in which this machine stalled for {LOST_GAP:g} s or "
        "more are excluded from a verdict and counted.",
        "If your server runs on such a machine, measure here; else measure on a machine like your server's. See steal for the "
        "CPU time that the host takes.",
    )


_IN_MEMORY = frozenset({"tmpfs", "ramfs"})
_SHARED = frozenset({"nfs", "nfs4", "cifs", "smb3", "9p", "virtiofs", "ceph", "glusterfs", "lustre"})
_COPY_ON_WRITE = frozenset({"btrfs", "zfs", "bcachefs"})
_WITHOUT_BARRIER = frozenset({"nobarrier", "barrier=0"})

_ROTATION = 60 / 7200
"""Seconds of one rotation of a hard disk at 7,200 rpm, the most common speed."""

_SLOW_FSYNC, _LONG_FSYNC = 0.002, 0.02
_UNEVEN = 10
_QUICK_FSYNC = 20e-6
"""Seconds; no device answers faster."""

_ELSEWHERE = "keep dialin's data on another disk (DIALIN_HOME)."
_ALIKE = "If your server has the same, measure here; else "


def file_system(disk: DiskFacts) -> Finding | None:
    kind = disk.file_system
    if kind is None:
        return None
    observed = f"{visible(kind)} at {visible(disk.directory)}"
    severity, remedy = Severity.NOTICE, _ALIKE + _ELSEWHERE
    if kind in _IN_MEMORY:
        severity, remedy = Severity.BAD, f"K{_ELSEWHERE[1:]}"
        effect = "Nothing is written to a disk here: durability, flushing and the redo log cost nothing with any setting."
    elif waived := sorted(_WITHOUT_BARRIER.intersection(disk.options or ())):
        observed += f", mounted with {waived[0]}"
        effect = "fsync does not wait until data is on the medium, so durable commits cost less than elsewhere."
    elif kind in _SHARED or kind.startswith("fuse"):
        effect = "The load of others on the shared storage is part of the measurement."
    elif kind in _COPY_ON_WRITE:
        effect = (
            "Each changed page is written to a new place, so random writes fragment the server's files: a trial may get slower "
            "the longer it lasts."
        )
    elif kind == "overlay":
        effect = "The disk below a container's own layer is unknown, so it is not checked."
        remedy = "Keep dialin's data on a volume (DIALIN_HOME)."
    else:
        return Finding.good("file system", observed)
    return Finding("file system", observed, severity, effect, remedy)


def device(disk: DiskFacts) -> Finding | None:
    if disk.disk is None:
        return None
    parts = [visible(disk.disk) + (f" ({visible(disk.model)})" if disk.model else "")]
    if disk.rotational is not None:
        parts.append("reported as rotating" if disk.rotational else "does not rotate")
    parts += [f"scheduler {visible(disk.scheduler)}"] if disk.scheduler else []
    parts += [f"{visible(disk.write_cache)} cache"] if disk.write_cache else []
    observed, queue = ", ".join(parts), f"/sys/block/{disk.disk}/queue"
    # The shortest fsync is used, because other load on the machine lengthens the rest.
    quickest = min(disk.fsyncs) if disk.fsyncs else None
    if disk.rotational and quickest is not None and quickest < _ROTATION / 10:
        return Finding(
            "disk",
            observed,
            Severity.NOTICE,
            f"An fsync takes as little as {number(1000 * quickest)} ms, and one rotation of a hard "
            f"disk {number(1000 * _ROTATION)} ms: this disk does not rotate. But MariaDB 10.4 and later believe the kernel and "
            "flush the neighbors of a page, too (innodb_flush_neighbors), which they do only on disks that are reported as "
            "rotating.",
            "If this is no hard disk, correct the kernel's flag. As root:",
            f"echo 0 | tee {queue}/rotational",
        )
    if disk.rotational:
        effect = "Disk waits are seeks of a hard disk; their length depends on where the data is on the disk."
        return Finding("disk", observed, Severity.NOTICE, effect, _ALIKE + _ELSEWHERE)
    if disk.scheduler == "bfq":
        return Finding(
            "disk",
            observed,
            Severity.NOTICE,
            "By default bfq puts the latency of some processes before throughput, and it costs CPU time for each request (the "
            "kernel's documentation, block/bfq-iosched).",
            "Use no scheduler while you measure. As root:",
            f"echo none | tee {queue}/scheduler",
        )
    return Finding.good("disk", observed)


def fsync(disk: DiskFacts, busy: float | None) -> Finding | None:
    """Judge how long a commit takes to reach the disk; `busy` is the share of all CPUs in use just before."""
    if not disk.fsyncs or min(disk.fsyncs) <= 0:
        return None
    median, worst = statistics.median(disk.fsyncs), max(disk.fsyncs)
    observed = f"{number(1000 * median)} ms (median), {number(1000 * worst)} ms (worst) of {len(disk.fsyncs)} writes of 4 KiB"
    bound = f"One connection can make at most about {number(1 / median)} durable commits per second here."
    if (busy or 0.0) >= FOREIGN:
        bound += " It may be faster when other programs do not use the CPUs."
    if median < _QUICK_FSYNC:
        effect = "No disk is this fast: fsync returns before data is on a medium, so durable commits cost almost nothing."
        return Finding("fsync", observed, Severity.NOTICE, effect, _ALIKE + _ELSEWHERE)
    if worst >= _LONG_FSYNC and worst >= _UNEVEN * median:
        effect = f"{bound} Sometimes an fsync takes much longer, which looks like a stall of the server."
        remedy = "Check what else writes to the disk; a virtual disk may be shared or throttled:"
        return Finding("fsync", observed, Severity.NOTICE, effect, remedy, "iostat -x 1")
    if median >= _SLOW_FSYNC:
        effect = bound if (busy or 0.0) >= FOREIGN else f"{bound} A write load measures this disk and little else."
        return Finding("fsync", observed, Severity.NOTICE, effect, _ALIKE + _ELSEWHERE)
    return Finding.good("fsync", observed, bound)


def space(disk: DiskFacts, needed: int) -> Finding | None:
    """Judge whether a study fits on the disk; `needed` is in bytes."""
    if disk.free is None:
        return None
    observed = f"{size(disk.free)} on the disk of {visible(disk.directory)}"
    if disk.free >= needed:
        return Finding.good("free space", observed)
    effect = f"A study with default options needs {size(needed)}: prepared data, and a copy for the trial."
    remedy = "Free space, prepare less data (--tables, --table-size), or keep dialin's data on a larger disk (DIALIN_HOME)."
    return Finding("free space", observed, Severity.BAD, effect, remedy)
