"""Findings on whether a machine is fit to measure, and how to fix what is not.

Sources are the kernel's documentation, the servers' sources and manuals, or measurements on builds that are named.
"""

from __future__ import annotations

from collections.abc import Callable

from dialin.evidence import fitness_machine
from dialin.evidence.load_limits import FOREIGN
from dialin.model.fitness import Facts, Finding, LoadFacts, Severity, by_severity
from dialin.model.trial import LOST_STOLEN
from dialin.text import counted, exact_percent, listed, percent, visible

_SOME_LOAD = 0.03
_SOME_STEAL, _MUCH_STEAL = 0.01, 0.05
_SOME_WAITING = 0.1
_SOME_WAITING_FOR_MEMORY = 0.01


def findings(facts: Facts, space_needed: int) -> list[Finding]:
    """Return the findings, the most severe first; `space_needed` is the bytes of disk that a study takes."""
    results = [check(facts, space_needed) for check in _CHECKS.values()]
    return by_severity(results)


def unknown_subjects(facts: Facts) -> list[str]:
    """Return the subjects on which this machine gives no facts."""
    return [subject for subject, check in _CHECKS.items() if check(facts, 0) is None]


def other_load(load: LoadFacts, cpus: int) -> Finding | None:
    if load.busy is None:
        return None
    names = [f"{visible(busy.name)} ({busy.pid}) {percent(busy.cpus)} of one" for busy in load.busiest]
    waiting = f", {counted(load.runnable, 'task')} running or waiting for a CPU" if load.runnable else ""
    observed = f"{percent(load.busy)} of {counted(cpus, 'CPU')} busy{waiting}"
    if load.busy < _SOME_LOAD:
        return Finding.good("other load", observed)
    return Finding(
        "other load",
        observed + (f"; most by {listed(names)}" if names else ""),
        Severity.BAD if load.busy >= FOREIGN else Severity.NOTICE,
        "Other programs take CPU from the candidate that runs at the time. A study warns if they used "
        f"{exact_percent(FOREIGN)} or more.",
        "Stop them, or wait until they have finished.",
    )


def waiting(load: LoadFacts) -> Finding | None:
    waits = {"a CPU": load.waited_cpu, "a disk": load.waited_io, "memory": load.waited_memory}
    shares = {what: share for what, share in waits.items() if share is not None}
    if not shares:
        return None
    observed = f"some task waited for {listed([f'{what} {percent(share)}' for what, share in shares.items()])} of the time"
    short = (load.waited_memory or 0.0) >= _SOME_WAITING_FOR_MEMORY
    if not short and max(shares.values()) < _SOME_WAITING:
        return Finding.good("waiting (PSI)", observed)
    return Finding(
        "waiting (PSI)",
        observed,
        Severity.NOTICE,
        "There is a queue before dialin applies any load, and the server will wait in it.",
        "Find the program that waits, and stop it or wait until it has finished:",
        "pidstat -dru 1",
    )


def steal(load: LoadFacts) -> Finding | None:
    now, since = load.stolen, load.stolen_since_boot
    if now is None or since is None:
        return None
    observed = f"{percent(now)} now, {percent(since)} of the requested CPU time since boot"
    worst = max(now, since)
    if worst < _SOME_STEAL:
        return Finding.good("steal", observed, "An idle machine hardly shows steal: only requested CPU time can be stolen.")
    return Finding(
        "steal",
        observed,
        Severity.BAD if worst >= _MUCH_STEAL else Severity.NOTICE,
        "The hypervisor gives CPU time to other machines, at the cost of the candidate that runs. Seconds with a steal of "
        f"{exact_percent(LOST_STOLEN)} or more are excluded from a verdict; less than that adds noise.",
        "Use a machine with dedicated CPUs, or measure when the other machines are idle.",
    )


_CHECKS: dict[str, Callable[[Facts, int], Finding | None]] = {
    "CPUs": lambda facts, _: fitness_machine.cpus(facts.cpu),
    "CPU governor": lambda facts, _: fitness_machine.governor(facts.cpu),
    "turbo": lambda facts, _: fitness_machine.turbo(facts.cpu),
    "clock source": lambda facts, _: fitness_machine.clock(facts.cpu),
    "NUMA": lambda facts, _: fitness_machine.numa(facts.cpu),
    "memory": lambda facts, _: fitness_machine.memory(facts.memory),
    "swap": lambda facts, _: fitness_machine.swap(facts.memory, facts.load.swapped),
    "huge pages": lambda facts, _: fitness_machine.huge_pages(facts.memory),
    "file system": lambda facts, _: fitness_machine.file_system(facts.disk),
    "disk": lambda facts, _: fitness_machine.device(facts.disk),
    "fsync": lambda facts, _: fitness_machine.fsync(facts.disk, facts.load.busy),
    "free space": lambda facts, needed: fitness_machine.space(facts.disk, needed),
    "other load": lambda facts, _: other_load(facts.load, facts.cpu.usable),
    "waiting (PSI)": lambda facts, _: waiting(facts.load),
    "steal": lambda facts, _: steal(facts.load),
    "open files": lambda facts, _: fitness_machine.open_files(facts.limits),
    "asynchronous I/O": lambda facts, _: fitness_machine.aio(facts.limits),
    "container": lambda facts, _: fitness_machine.container(facts.limits, facts.place, facts.cpu.usable),
    "hypervisor": lambda facts, _: fitness_machine.hypervisor(facts.place),
}
"""The checks, by subject; each takes the facts and the bytes of disk that a study needs."""
