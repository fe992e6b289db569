"""A table of the rules on the server's process and the machine."""

from __future__ import annotations

from collections.abc import Callable

from dialin.evidence.reasons import shared_figures, sources
from dialin.evidence.reasons.rule import ReasonRule, describe_reads, mean_of, per_second, per_transaction, quotient
from dialin.text import number, percent, size

_PER_TRANSACTION = "per {one}"

_read_calls = per_transaction("process", "read_calls")
_read_bytes = per_transaction("process", "read_chars")


def _process_counters(
    code: str,
    theme: str,
    name: str,
    source: str,
    *counters: str,
    floor: float,
    least: float = 0.05,
    form: Callable[[float], str] = number,
) -> ReasonRule:
    """Return a rule on counters of the server's process per transaction, added up."""
    figure = per_transaction("process", *counters)
    return ReasonRule(code, theme, name, _PER_TRANSACTION, source, figure, floor, least, form=form)


def _share_of_time(
    code: str, theme: str, name: str, counter: str, *, source: str, floor: float, least: float = 0.1
) -> ReasonRule:
    """Return a rule on a share of the time, which must change in the same direction per second and per transaction."""
    rate, guard = per_second("machine", counter), per_transaction("machine", counter)
    return ReasonRule(code, theme, name, "of the time", source, rate, floor, least, guard, percent)


def _disk_time(code: str, name: str, seconds: str, operations: str) -> ReasonRule:
    mean = quotient(per_second("machine", seconds, factor=1e3), per_second("machine", operations), least=1.0)
    return ReasonRule(code, "disk", name, "ms", sources.DISK_STATS, mean, floor=0.1, least=0.1)


RULES: tuple[ReasonRule, ...] = (
    ReasonRule("server_cpu", "cpu", "server CPU", "µs per {one}", sources.PROC_STAT,
        per_transaction("process", "server_cpu_user", "server_cpu_system", factor=1e6), floor=1.0),
    ReasonRule("system_cpu", "cpu", "server system CPU", "µs per {one}", sources.PROC_STAT,
        per_transaction("process", "server_cpu_system", factor=1e6), floor=1.0, least=0.1),
    _process_counters("context_switches", "cpu", "server context switches", sources.PROC_STATUS, "voluntary_switches",
        "involuntary_switches", floor=0.1),
    ReasonRule("read_size", "read size", "reads of files", "per call", sources.READ_BUFFER,
        quotient(per_second("process", "read_chars"), per_second("process", "read_calls"), least=1.0), floor=512, form=size,
        more=describe_reads(_read_calls, _read_bytes)),
    ReasonRule("read_calls", "reads", "read syscalls", _PER_TRANSACTION, sources.PROC_IO, _read_calls, floor=0.1),
    _process_counters("write_calls", "writes", "write syscalls", sources.PROC_IO, "write_calls", floor=0.1),
    _process_counters("bytes_from_disk", "reads", "data read from disk", sources.PROC_IO, "read_bytes", floor=512, form=size),
    _process_counters("bytes_to_disk", "writes", "data written to disk", sources.PROC_IO, "write_bytes", floor=512, form=size),
    _process_counters("minor_faults", "memory", "server page faults", sources.PROC_STAT, "minor_faults", floor=0.5, least=0.2),
    ReasonRule("major_faults", "memory", "major page faults", "per second", sources.PROC_STAT,
        per_second("process", "major_faults"), floor=1.0, least=0.2, guard=per_transaction("process", "major_faults")),
    ReasonRule("resident_memory", "memory", "server memory (RSS)", "resident on average", sources.PROC_STATUS,
        shared_figures.resident_memory, floor=32 * 2**20, form=size),
    _disk_time("disk_read_time", "disk read time", "disk_read_seconds", "disk_reads"),
    _disk_time("disk_write_time", "disk write time", "disk_write_seconds", "disk_writes"),
    _share_of_time("disk_busy", "disk", "disk busy", "disk_busy_seconds", source=sources.DISK_STATS, floor=0.05),
    _share_of_time("io_pressure", "disk", "some task waited for a disk", "pressure_io_seconds", source=sources.PRESSURE,
        floor=0.02),
    _share_of_time("memory_pressure", "memory", "some task waited for memory", "pressure_memory_seconds",
        source=sources.PRESSURE, floor=0.005, least=0.2),
    _share_of_time("cpu_pressure", "machine", "some task waited for a CPU", "pressure_cpu_seconds", source=sources.PRESSURE,
        floor=0.05),
    ReasonRule("run_queue", "machine", "tasks running or waiting for a CPU", "on average", sources.RUN_QUEUE,
        mean_of("machine", "run_queue"), floor=1.5, least=0.2),
    ReasonRule("steal", "machine", "CPU stolen by the hypervisor", "s per second", sources.STEAL,
        per_second("machine", "steal_seconds"), floor=0.02, least=0.2, guard=per_transaction("machine", "steal_seconds")),
)  # fmt: skip
