"""Findings on CPUs, clock and memory. A part of `fitness_findings`."""

from __future__ import annotations

from dialin.model.fitness import CpuFacts, Finding, MemoryFacts, Severity
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
