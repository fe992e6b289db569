"""Rules on the server's process and the machine: a table."""

from __future__ import annotations

from collections.abc import Callable

from dialin.evidence.reasons import sources
from dialin.evidence.reasons.phrases import describe_reads
from dialin.evidence.reasons.rule import Rule, mean_of, per_second, per_transaction, quotient
from dialin.text import number, percent, size

_EACH = "a transaction"

_calls = per_transaction("process", "read_calls")
_bytes = per_transaction("process", "read_chars")


def _each_transaction(
    code: str,
    theme: str,
    name: str,
    source: str,
    *counters: str,
    floor: float,
    least: float = 0.05,
    form: Callable[[float], str] = number,
) -> Rule:
    return Rule(code, theme, name, _EACH, source, per_transaction("process", *counters), floor, least, form=form)


def _share_of_time(code: str, theme: str, name: str, counter: str, *, source: str, floor: float, least: float = 0.1) -> Rule:
    """Return a rule on a share of the time. It must change per second and per transaction the same way."""
    rate, guard = per_second("machine", counter), per_transaction("machine", counter)
    return Rule(code, theme, name, "of the time", source, rate, floor, least, guard, percent)


def _disk_time(code: str, name: str, seconds: str, operations: str) -> Rule:
    mean = quotient(per_second("machine", seconds, factor=1e3), per_second("machine", operations), least=1.0)
    return Rule(code, "disk", name, "ms", sources.DISK_STATS, mean, floor=0.1, least=0.1)


RULES: tuple[Rule, ...] = (
    Rule(
        "server_cpu",
        "cpu",
        "CPU of the server",
        "µs a transaction",
        sources.PROC_STAT,
        per_transaction("process", "server_cpu_user", "server_cpu_system", factor=1e6),
        floor=1.0,
    ),
    Rule(
        "system_cpu",
        "cpu",
        "CPU of the server inside the kernel",
        "µs a transaction",
        sources.PROC_STAT,
        per_transaction("process", "server_cpu_system", factor=1e6),
        floor=1.0,
        least=0.1,
    ),
    _each_transaction(
        "context_switches",
        "cpu",
        "context switches of the server",
        sources.PROC_STATUS,
        "voluntary_switches",
        "involuntary_switches",
        floor=0.1,
    ),
    Rule(
        "read_size",
        "read size",
        "reads of files",
        "a call",
        sources.READ_BUFFER,
        quotient(per_second("process", "read_chars"), per_second("process", "read_calls"), least=1.0),
        floor=512,
        form=size,
        more=describe_reads(_calls, _bytes),
    ),
    Rule("read_calls", "reads", "calls that read", _EACH, sources.PROC_IO, _calls, floor=0.1),
    _each_transaction("write_calls", "writes", "calls that write", sources.PROC_IO, "write_calls", floor=0.1),
    _each_transaction("bytes_from_disk", "reads", "data read from disk", sources.PROC_IO, "read_bytes", floor=512, form=size),
    _each_transaction("bytes_to_disk", "writes", "data written to disk", sources.PROC_IO, "write_bytes", floor=512, form=size),
    _each_transaction(
        "minor_faults", "memory", "page faults of the server", sources.PROC_STAT, "minor_faults", floor=0.5, least=0.2
    ),
    Rule(
        "major_faults",
        "memory",
        "page faults that went to disk",
        "a second",
        sources.PROC_STAT,
        per_second("process", "major_faults"),
        floor=1.0,
        least=0.2,
        guard=per_transaction("process", "major_faults"),
    ),
    Rule(
        "resident_memory",
        "memory",
        "memory of the server",
        "resident on average",
        sources.PROC_STATUS,
        mean_of("process", "resident_bytes"),
        floor=32 * 2**20,
        form=size,
    ),
    _disk_time("disk_read_time", "a read of the disk took", "disk_read_seconds", "disk_reads"),
    _disk_time("disk_write_time", "a write to the disk took", "disk_write_seconds", "disk_writes"),
    _share_of_time("disk_busy", "disk", "the disk was at work", "disk_busy_seconds", source=sources.DISK_STATS, floor=0.05),
    _share_of_time(
        "io_pressure", "disk", "some task waited for a disk", "pressure_io_seconds", source=sources.PRESSURE, floor=0.02
    ),
    _share_of_time(
        "memory_pressure",
        "memory",
        "some task waited for memory",
        "pressure_memory_seconds",
        source=sources.PRESSURE,
        floor=0.005,
        least=0.2,
    ),
    _share_of_time(
        "cpu_pressure", "machine", "some task waited for a CPU", "pressure_cpu_seconds", source=sources.PRESSURE, floor=0.05
    ),
    Rule(
        "run_queue",
        "machine",
        "tasks that ran or waited for a CPU",
        "on average",
        sources.RUN_QUEUE,
        mean_of("machine", "run_queue"),
        floor=1.5,
        least=0.2,
    ),
    Rule(
        "steal",
        "machine",
        "CPU that the hypervisor gave to others",
        "s a second",
        sources.STEAL,
        per_second("machine", "steal_seconds"),
        floor=0.02,
        least=0.2,
        guard=per_transaction("machine", "steal_seconds"),
    ),
)
